# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots that were pushed, under laws with gains at corners of their bounds, for the tests."""

from collections import deque
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin
from dynamics.conftest import random_tree

from vms_ph_controllers import (
    CartesianImpedance,
    Controller,
    DecoupledVMSController,
    PoseIDAPBC,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.laws.sampled_impedance import holds_weight, horizon
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

HOLD = Reference()
LAWS: dict[str, tuple[type[Controller], tuple[str, ...]]] = {
    "TaskSpaceIDAPBC": (TaskSpaceIDAPBC, ("panda", "tree 15")),
    "CartesianImpedance": (
        CartesianImpedance,
        ("panda", "omnidirectional_panda", "satellite_panda", "hextilt", "tree 15", "tree 5"),
    ),
    "PoseIDAPBC": (
        PoseIDAPBC,
        ("panda", "omnidirectional_panda", "satellite_panda", "tree 5"),
    ),
    "DecoupledVMSController": (
        DecoupledVMSController,
        ("omnidirectional_panda", "satellite_panda", "hextilt", "tree 5"),
    ),
}

# Damping is proportional to these; where one of them is zero, a motion is not damped. The rotors
# and torques of a robot that may do no work, or change without end, cannot brake it.
_DAMPING = {
    "TaskSpaceIDAPBC": ("damping_task", "damping_null"),
    "CartesianImpedance": (
        "damping",
        "damping_rotation",
        "damping_null",
        *(f"damping_share_{axis}" for axis in ("x", "y", "z", "rx", "ry", "rz")),
    ),
    "PoseIDAPBC": ("damping", "damping_rotation", "damping_null"),
    "DecoupledVMSController": ("frequency_base", "frequency_shape", "damping_ratio"),
}


@dataclass(frozen=True)
class Case:
    """A robot under a law with gains at a corner of their bounds."""

    law: str
    robot: str
    rate: int
    delay: int
    gains: dict[str, Any]
    age: int = 0  # of the states, samples, at most what the weight allows

    @property
    def is_damped(self) -> bool:
        return all(self.gains[name] > 0.0 for name in _DAMPING[self.law])


def random_case(rng: np.random.Generator, damped: bool) -> Case:
    law = str(rng.choice(list(LAWS)))
    kind, known = LAWS[law]
    delay = int(rng.integers(2))
    gains: dict[str, Any] = {}
    for item in sorted(fields(kind.Gains), key=lambda field: field.name):
        low, high = item.metadata["low"], item.metadata["high"]
        gains[item.name] = bool(rng.integers(2)) if low is None else (low, high)[rng.integers(2)]
    # A delay beyond the declared one is not promised; a tank has tests of its own.
    gains["delay"] = max(gains["delay"], float(delay))
    gains["tank_capacity"] = 0.0
    if law == "CartesianImpedance":
        # These robots have no friction to compensate. Undamped, a posture may give its own energy.
        gains["friction_compensation"] = 0.0
        gains["null_energy"] *= damped
    for name in _DAMPING[law]:
        if damped:
            gains[name] = kind.Gains.__dataclass_fields__[name].metadata["high"]
    if not damped and all(gains[name] > 0.0 for name in _DAMPING[law]):
        gains[str(rng.choice(_DAMPING[law]))] = 0.0
    return Case(law, str(rng.choice(known)), int(rng.choice([100, 250, 1000])), delay, gains)


@cache
def _model(name: str) -> VMSModel:
    tree = name.startswith("tree")
    return random_tree(int(name.split()[1])) if tree else robots.load(name)


@dataclass
class Outcome:
    """Kinetic energies of a pushed robot: after the push, the largest, and the last, J."""

    pushed: float
    most: float
    last: float


def run(case: Case, rng: np.random.Generator, seconds: float) -> Outcome:
    """Push a robot that rests in the minimum, and let its law go on; no friction."""
    model = _model(case.robot).with_native(None)
    known = None if case.robot.startswith("tree") else robots.get(case.robot)
    q = model.neutral_configuration() if known is None else model.configuration(known.home)
    kind = LAWS[case.law][0]
    allocation = known.allocation() if known is not None and not known.ideal else None
    law = kind(model) if allocation is None else kind(model, allocation=allocation)
    law.gains = kind.Gains(**case.gains)
    law.reset(RobotState(q, np.zeros(model.nv)))
    # The same energy for every robot of this mass, whatever its lightest link is.
    impulse = rng.normal(size=model.nv)
    v = np.linalg.solve(model.evaluate(q, np.zeros(model.nv)).M, impulse)
    v *= 0.3 / np.abs(v).max()
    dt = 1.0 / case.rate
    age = case.age
    while age and not holds_weight(model, q, horizon(dt, max(1.0, case.gains["delay"]), age * dt)):
        age -= 1
    late, measured = deque([law.safe_output(q)] * case.delay), deque(maxlen=age + 1)
    steps = max(1, round(1000 / case.rate / 2))
    data = model.pinocchio.createData()
    energies = [model.evaluate(q, v).kinetic_energy]
    for _ in range(round(seconds * case.rate)):
        measured.append((q, v))
        state = RobotState(*measured[0], (len(measured) - 1) * dt)
        late.append(law.update(state, HOLD, dt))
        command = late.popleft()
        force = np.concatenate([command.wrench_base, command.torque])
        h = dt / steps
        for _ in range(steps):
            a = pin.aba(model.pinocchio, data, q, v, force)
            middle = v + 0.5 * h * a
            a = pin.aba(model.pinocchio, data, model.integrate(q, 0.5 * h * v), middle, force)
            q, v = model.integrate(q, h * middle), v + h * a
        energies.append(model.evaluate(q, v).kinetic_energy)
        if not energies[-1] < 1e6:
            break
    # No effort that has seen the push acts before the delay is over.
    acts = case.delay + age
    return Outcome(energies[acts], max(energies[acts:]), energies[-1])
