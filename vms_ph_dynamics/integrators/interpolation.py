# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""States between two steps: cubic Hermite interpolation on the manifold of configurations."""

import numpy as np

from ..arrays import Array
from ..forms import Form, PHState, Ports
from .moving_base import inverse_differential
from .step import Acting
from .stepper import Interpolant


def hermite(
    form: Form, before: PHState, after: PHState, ports: Acting, t: float, dt: float
) -> Interpolant:
    """Return a function of time that passes through both states with their rates.

    Its error is of fourth order in ``dt``. The momenta are interpolated in the body axes of the
    form, the configuration along the exponential from the first state.

    Args:
        form: gives the rates.
        before: at ``t``.
        after: at ``t + dt``.
        ports: the efforts, which are assumed continuous over the step.
        t: time, s.
        dt: time, s.
    """
    model = form.model
    rates = []
    for x, time in ((before, t), (after, t + dt)):
        acting = ports if isinstance(ports, Ports) else ports(time, x)
        rates.append(form.rate_arrays(x.q, x.z, acting))
    (v0, zdot0), (v1, zdot1) = rates
    reach = model.difference(before.q, after.q)
    arrival = v1 if model.base == "fixed" else inverse_differential(model.base, reach, v1)

    def at(time: float) -> PHState:
        s = (time - t) / dt
        along = cubic(s, np.zeros(model.nv), dt * v0, reach, dt * arrival)
        z = cubic(s, before.z, dt * zdot0, after.z, dt * zdot1)
        return PHState(model.integrate(before.q, along), z)

    return at


def cubic(s: float, x0: Array, slope0: Array, x1: Array, slope1: Array) -> Array:
    """Return the cubic through ``x0`` and ``x1`` with these slopes, at s from 0 to 1."""
    u = 1.0 - s
    start, end = u * u * (1.0 + 2.0 * s), s * s * (3.0 - 2.0 * s)
    return start * x0 + end * x1 + s * u * (u * slope0 - s * slope1)
