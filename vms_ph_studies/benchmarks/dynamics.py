# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Computation time of the terms and rates of the model, against Pinocchio's algorithms."""

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Evaluation
from vms_ph_dynamics.forms import DecoupledForm, Ports, StandardForm
from vms_ph_io import robots

from . import Benchmark
from .timing import Case

# All blocks of the equations of motion, with energies and momenta, which follow from them.
_BLOCKS = ("M", "A", "M_hat_m", "v_hat", "p", "pi", "pi_hat", "C", "g", "J_end_effector")

_ABA = "pinocchio aba"


def _cases(robot: str, base: str) -> list[Case]:
    bundled = robots.get(robot)
    model = bundled.model(bundled.description(), base)
    m, rng = model.pinocchio, np.random.default_rng(0)
    data = m.createData()
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    tau = rng.uniform(-10, 10, model.nv)
    ports = Ports(torque=tau[model.b :], wrench_base=tau[: model.b])
    standard, decoupled = StandardForm(model), DecoupledForm(model)
    x, x_hat = standard.state(q, v), decoupled.state(q, v)

    def evaluate() -> Evaluation:
        d = model.evaluate(q, v)
        for block in _BLOCKS:
            getattr(d, block)
        return d

    return [
        Case("pinocchio crba", lambda: pin.crba(m, data, q)),
        Case("pinocchio rnea", lambda: pin.rnea(m, data, q, v, tau)),
        Case("pinocchio coriolis", lambda: pin.computeCoriolisMatrix(m, data, q, v)),
        Case(_ABA, lambda: pin.aba(m, data, q, v, tau)),
        Case(
            "DecoupledForm.rate_arrays",
            lambda: decoupled.rate_arrays(x_hat.q, x_hat.z, ports),
            limit=9.0,
        ),
        Case("DecoupledForm.rate", lambda: decoupled.rate(x_hat, ports), limit=14.0),
        Case("StandardForm.rate", lambda: standard.rate(x, ports)),
        Case("VMSModel.evaluate, all blocks", evaluate, limit=16.0),
        Case("matrices of the decoupled form", lambda: decoupled.interconnection(x_hat)),
    ]


BENCHMARK = Benchmark(
    id="dynamics",
    title="terms of the equations of motion and rates of the forms",
    reference=_ABA,
    cases=_cases,
)
