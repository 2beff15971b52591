# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws in Python take their whole effort from one call of C++, and do what their methods say."""

from dataclasses import astuple, replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import (
    Command,
    Controller,
    DecoupledVMSController,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.laws.decoupled_effort import ReferenceMotion, ShapedEnergy
from vms_ph_controllers.laws.unchanged import is_unchanged
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots


class TaskByMethods(TaskSpaceIDAPBC):
    """The law itself, with a method of its own, so that all of them are called."""

    calls = 0

    def _stiffness(self, d: Evaluation, depth: Array, h: float) -> Array:
        self.calls += 1
        return super()._stiffness(d, depth, h)


class DecoupledByMethods(DecoupledVMSController):
    """The same of the decoupled law."""

    calls = 0

    def _shaped(self, error: Array, offset: Array, positions: Array, ahead: Array) -> ShapedEnergy:
        self.calls += 1
        return super()._shaped(error, offset, positions, ahead)


class HalfStiff(TaskSpaceIDAPBC):
    """A law that counts half of the stiffness where it decides what may be held."""

    def _stiffness(self, d: Evaluation, depth: Array, h: float) -> Array:
        return 0.5 * super()._stiffness(d, depth, h)


class Pulled(DecoupledVMSController):
    """A law with a constant force in its potential."""

    def _shaped(self, error: Array, offset: Array, positions: Array, ahead: Array) -> ShapedEnergy:
        shaped = super()._shaped(error, offset, positions, ahead)
        pull = np.linspace(-1.0, 1.0, self.model.nv)
        return replace(shaped, gradient=shaped.gradient + pull)


class Unled(DecoupledVMSController):
    """A law that takes every reference as resting."""

    def _reference_motion(self, error: Array, v: Array) -> ReferenceMotion | None:
        return None


class Shifted(PositionTask):
    """The position of a point beside a frame."""

    def value(self, d: Evaluation) -> Array:
        return super().value(d) + np.array([0.0, 0.0, 1.0])


GAINS: dict[str, dict[str, float]] = {
    "plain": {},
    "tank": {"tank_capacity": 0.2, "tank_initial": 0.05},
    "limits": {"torque_rate": 200.0, "power": 2.0},
}
OF_TASK = {**GAINS, "task stiffness": {"task_stiffness": 200.0}, "coupling": {"cancel_coupling": 1}}
DECOUPLED = {**GAINS, "integral": {"integral": 0.3}}
ROBOTS = (("panda", "floating"), ("hextilt", "floating"), ("omnidirectional_panda", "planar"))


def asked(k: int, model: VMSModel) -> Reference:
    """A reference that rests, jumps, moves, and is no number."""
    target = np.eye(4)
    target[:3, 3] = 0.3, -0.1, 0.2
    match k:
        case 20:
            return Reference(
                position=np.array([0.4, 0.2, 0.4]), pose=target, joints=np.full(model.n, 0.1)
            )
        case 120:
            return Reference(position=np.full(3, np.nan), joints=np.full(model.n, np.inf))
    if 60 <= k < 100:
        return Reference(
            velocity=np.array([0.05, 0.0, 0.02]), twist=np.array([0.1, 0.0, 0.0, 0.0, 0.2, 0.1])
        )
    return Reference()


def commands(law: Controller, gains: dict[str, float], home: Any) -> list[Command]:
    """What a law commands on a motion that is the same for all laws of a robot."""
    rng, model = np.random.default_rng(1), law.model
    law.gains = replace(law.gains, **gains)
    q, v = model.configuration(home), np.zeros(model.nv)
    law.reset(RobotState(q, v))
    found = []
    for k in range(160):
        v = 0.95 * v + 0.08 * rng.normal(size=model.nv)
        q = model.integrate(q, 4e-3 * v)
        if k == 80:
            law.gains = replace(law.gains, limit_margin=0.3, delay=0.5)
        found.append(law.update(RobotState(q, v), asked(k, model), 1e-3))
    return found


def numbers(command: Command) -> Array:
    about = (command.task_error, command.smallest_singular_value, command.authority)
    parts = command.wrench_base, command.torque, astuple(command.energy), about
    return np.nan_to_num(np.concatenate([np.asarray(part, dtype=float) for part in parts]))


def assert_same(expected: list[Command], found: list[Command], share: float) -> None:
    for one, other in zip(expected, found, strict=True):
        assert (other.status, other.reason) == (one.status, one.reason)
        size = 1.0 + np.abs(np.concatenate([one.wrench_base, one.torque])).max()
        np.testing.assert_allclose(numbers(other), numbers(one), rtol=share, atol=share * size)


def loaded(name: str, base: str, native: bool) -> tuple[VMSModel, Any]:
    known = robots.get(name)
    return known.model(known.description(), base).with_native(native), known.home


@pytest.mark.parametrize("gains", OF_TASK)
def test_a_task_space_effort_in_one_call_is_that_of_the_methods(
    native: ModuleType, gains: str
) -> None:
    model, home = loaded("panda", "fixed", True)
    laws = TaskByMethods(model), TaskSpaceIDAPBC(model)
    expected, found = (commands(law, OF_TASK[gains], home) for law in laws)
    assert laws[0].calls == len(expected)
    # Both add the same numbers, in another order.
    assert_same(expected, found, 1e-12)


@pytest.mark.parametrize("gains", DECOUPLED)
@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_a_decoupled_effort_in_one_call_is_that_of_the_methods(
    native: ModuleType, name: str, base: str, gains: str
) -> None:
    model, home = loaded(name, base, True)
    laws = DecoupledByMethods(model), DecoupledVMSController(model)
    expected, found = (commands(law, DECOUPLED[gains], home) for law in laws)
    assert laws[0].calls == len(expected)
    assert_same(expected, found, 1e-12)


@pytest.mark.parametrize(
    ("kind", "own", "base"),
    [
        (TaskSpaceIDAPBC, HalfStiff, "fixed"),
        (DecoupledVMSController, Pulled, "floating"),
        (DecoupledVMSController, Unled, "floating"),
    ],
)
def test_a_law_that_derives_from_another_does_what_its_own_method_says(
    native: ModuleType, kind: type[Controller], own: type[Controller], base: str
) -> None:
    stiff = {"stiffness": 1000.0, "delay": 3.0} if kind is TaskSpaceIDAPBC else {}
    (python, home), (core, _) = (loaded("panda", base, native) for native in (False, True))
    expected, found = (commands(own(model), stiff, home) for model in (python, core))
    # What is held of a stiffness is computed in C++ besides: the tolerance of that.
    assert_same(expected, found, 1e-9)
    unchanged = commands(kind(core), stiff, home)
    pairs = zip(found, unchanged, strict=True)
    apart = [np.abs(one.torque - other.torque).max() for one, other in pairs]
    assert max(apart) > 1e-3


def test_a_task_that_derives_from_the_position_is_measured_by_its_own_value(
    native: ModuleType,
) -> None:
    model, home = loaded("panda", "fixed", True)
    law = TaskSpaceIDAPBC(model)
    q = model.configuration(home)
    law.reset(RobotState(q, np.zeros(7)))
    law.task = Shifted(model)
    command = law.update(RobotState(q, np.zeros(7)), Reference(), 1e-3)
    assert command.task_error == pytest.approx(1.0, abs=1e-12)


def test_only_a_method_of_its_own_changes_a_law(native: ModuleType) -> None:
    model, _ = loaded("panda", "fixed", True)
    of_stiffness = TaskSpaceIDAPBC, "_stiffness"
    assert is_unchanged(TaskSpaceIDAPBC(model), *of_stiffness)
    assert not is_unchanged(HalfStiff(model), *of_stiffness)
    assert is_unchanged(HalfStiff(model), TaskSpaceIDAPBC, "_demand", "update")
