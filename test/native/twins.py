# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A law in both languages at once, compared at every update."""

from dataclasses import fields, replace
from types import ModuleType
from typing import Any

import numpy as np

from vms_ph_controllers import Command, ControlEnergy, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import Array, StateError, VMSModel

from .conftest import native_model

# Relative to the size of a quantity; sizes below one N m, J or W count as one.
PARITY = 1e-9

# Known to 1e-13 of what it is the difference of.
_DIFFERENCE = "reference_power"

ENERGIES = tuple(field.name for field in fields(ControlEnergy))


class Twins:
    """Calls the Python law and the one in C++ alike, and compares what they say."""

    def __init__(self, native: ModuleType, model: VMSModel) -> None:
        self.python = TaskSpaceIDAPBC(model)
        self.cpp = native.make_law("TaskSpaceIDAPBC", native_model(native, model))
        self.statuses: set[int] = set()
        self.reasons: set[str] = set()
        self.furthest = 0.0
        self.last = Command(np.zeros(0), np.zeros(model.n))

    def reset(self, q: Array) -> None:
        try:
            self.python.reset(RobotState(q, np.zeros(self.python.model.nv)))
        except StateError:
            assert not self.cpp.reset(q, np.zeros(self.python.model.nv))
        else:
            assert self.cpp.reset(q, np.zeros(self.python.model.nv))

    def set_gains(self, **gains: float) -> None:
        switches = {f.name for f in fields(self.python.gains) if isinstance(f.default, bool)}
        typed = {name: bool(x) if name in switches else x for name, x in gains.items()}
        self.python.gains = replace(self.python.gains, **typed)
        assert all(self.cpp.set_gain(name, value) for name, value in gains.items())

    def update(
        self, q: Array, v: Array, position: Array | None, velocity: Array | None, dt: float
    ) -> Array:
        expected = self.python.update(RobotState(q, v), Reference(position, velocity), dt)
        obtained = self.cpp.update(q, v, dt, position, velocity)
        self.last = expected
        self.statuses.add(int(expected.status))
        self.reasons.add(expected.reason)
        assert obtained.status == expected.status, expected
        assert _without_rounding(obtained.reason) == _without_rounding(expected.reason)
        self._compare(obtained.torque, expected.torque, "torque")
        assert obtained.wrench_base.shape == expected.wrench_base.shape
        for name in ENERGIES:
            ours, theirs = getattr(obtained.energy, name), getattr(expected.energy, name)
            self._compare(ours, theirs, name, self._terms(q, dt) if name == _DIFFERENCE else 1.0)
        for name in ("task_error", "smallest_singular_value", "authority"):
            self._compare(getattr(obtained, name), getattr(expected, name), name)
        self._compare(self.cpp.q_star, self.python.q_star, "q_star")
        return expected.torque

    def _terms(self, q: Array, dt: float) -> float:
        """Return the size at which a difference of potentials over a sample is rounded, W."""
        if not dt > 0.0 or np.shape(q) != (self.python.model.nq,) or not np.isfinite(q).all():
            return 1.0
        # In it potentials of gravity cancel, of heights of about a metre.
        model = self.python.model
        weight = model.total_mass * float(np.linalg.norm(model.gravity))
        return 1e-4 * (self.python._tank_potential.potential.energy(q) + weight) / dt

    def _compare(self, obtained: Any, expected: Any, name: str, least: float = 1.0) -> None:
        ours, theirs = np.asarray(obtained), np.asarray(expected)
        if not np.isfinite(theirs).all():
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
            return
        size = max(1.0, least, float(np.abs(theirs).max(initial=0.0)))
        apart = float(np.abs(ours - theirs).max(initial=0.0)) / size
        self.furthest = max(self.furthest, apart)
        assert apart <= PARITY, f"{name}: {ours} in C++, {theirs} in Python"


def _without_rounding(reason: str) -> str:
    """Leave out a singular value, compared by itself, of which zero is told as mere rounding."""
    return reason.rpartition(" ")[0] if reason.startswith("near a singularity") else reason
