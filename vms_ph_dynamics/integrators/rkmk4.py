# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Runge-Kutta-Munthe-Kaas scheme: classical Runge-Kutta on the group of base motions."""

import numpy as np

from ..arrays import Array
from ..energy.power_quadrature import PowerQuadrature
from ..evaluation import Evaluation
from ..forms import Form, PHState
from .moving_base import inverse_differential
from .rk4 import RK4, STAGES
from .step import PortFunction, Step


def rkmk4_step(form: Form, x: PHState, ports: PortFunction, t: float, dt: float) -> Step:
    """Advance a state by one step of fourth order that stays on the manifold.

    The configuration is ``q exp(u)``, and u is integrated by the classical scheme (Munthe-Kaas,
    Applied Numerical Mathematics 29, 1999).

    Args:
        form: on any base.
        x: state at ``t``.
        ports: efforts as a function of time and state.
        t: time, s.
        dt: time, s.

    Returns:
        The state at ``t + dt`` and the energies of the step.
    """
    model = form.model
    moving = model.base != "fixed"
    energies = PowerQuadrature()
    rate: Array = np.zeros(model.nv)
    zdot = 0.0 * x.z
    mean, mean_z = rate, zdot
    for lead, weight in STAGES:
        u = lead * dt * rate
        stage = x if not lead else PHState(model.integrate(x.q, u), x.z + lead * dt * zdot)
        acting = ports(t + lead * dt, stage)
        v, zdot = form.rate_arrays(stage.q, stage.z, acting)
        rate = inverse_differential(model.base, u, v) if moving else v
        mean = mean + weight * rate
        mean_z = mean_z + weight * zdot
        energies.add(acting, Evaluation(model, stage.q, v), weight * dt)
    end = PHState(model.integrate(x.q, dt * mean), x.z + dt * mean_z)
    return Step(end, energies.supplied, energies.dissipated)


class RKMK4(RK4):
    """:func:`rkmk4_step` on the momenta of any form."""

    def _advance(self, x: PHState, ports: PortFunction, t: float, dt: float) -> Step:
        return rkmk4_step(self.form, x, ports, t, dt)
