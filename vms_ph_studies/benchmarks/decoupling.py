# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Computation time of the blocks of the decoupled dynamics, and of a hop of a leg."""

import numpy as np
import pinocchio as pin

from vms_ph_dynamics.decoupling import (
    DecouplingTransform,
    centre_of_mass_frame,
    curvature,
    hamel_coriolis,
    momentum_map,
    passive_coriolis,
)
from vms_ph_io import robots

from ..reproduce.feurstein.experiments import trial_of
from . import Benchmark
from .timing import Case

_CORIOLIS = "pinocchio coriolis"

# A period of the gait of experiment VI, s; the limit is 60 s for 20 s of it.
_HOP = 0.372


def _cases(robot: str, base: str) -> list[Case]:
    known = robots.get(robot)
    model = known.model(known.description(), base)
    m, rng = model.pinocchio, np.random.default_rng(0)
    data = m.createData()
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)

    def hamel_blocks() -> object:
        d = model.evaluate(q, v)
        return DecouplingTransform(d).dynamics(hamel_coriolis(d))

    def centroidal_blocks() -> object:
        d = model.evaluate(q, v)
        return momentum_map(d, centre_of_mass_frame(d)).dynamics(passive_coriolis(d))

    trial = trial_of("feurstein-revolute-6")

    return [
        Case(_CORIOLIS, lambda: pin.computeCoriolisMatrix(m, data, q, v)),
        Case("Hamel matrix", lambda: hamel_coriolis(model.evaluate(q, v))),
        Case("passive matrix of the bodies", lambda: passive_coriolis(model.evaluate(q, v))),
        # The limit: the period of a controller at 1 kHz.
        Case("all decoupled blocks, Hamel", hamel_blocks, seconds=1e-3),
        Case("all centroidal blocks, passive", centroidal_blocks, seconds=1e-3),
        Case("residual 2-form", lambda: curvature(model.evaluate(q, v))),
        Case("a hop of experiment VI, 0.372 s", lambda: trial.run(_HOP), seconds=3.0 * _HOP),
    ]


BENCHMARK = Benchmark(
    id="decoupling",
    title="Hamel and passive matrices and the blocks they decouple into",
    reference=_CORIOLIS,
    cases=_cases,
)
