# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A law that runs in C++ commands what its lines in Python do, whatever happens to it."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import Command, Reference, RobotState, Status, TaskSpaceIDAPBC
from vms_ph_controllers.hosting.hosted_controller import HostedController
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_controllers.laws.twinned_controller import TwinnedController
from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_io import robots

from .base_law_cases import CASES, Case
from .base_law_runs import (
    HOLD,
    anywhere,
    empty_tank,
    faults,
    gain_changes,
    in_python,
    limits,
    moving_references,
    pushes,
    switches,
    wrenches,
)
from .test_base_laws import Twins

SCRIPTS = (anywhere, faults, gain_changes, limits, moving_references, pushes, switches, wrenches)
ATTRIBUTES = ("q_star", "push_level", "observed_force")


class InCpp:
    """A law of the library that runs in C++, with the interface of its twin."""

    def __init__(self, law: Any) -> None:
        self.law = law

    def reset(self, q: np.ndarray, v: np.ndarray) -> bool:
        try:
            self.law.reset(RobotState(q, v))
        except StateError:
            return False
        return True

    def set_gain(self, name: str, value: float) -> bool:
        self.law.gains = replace(self.law.gains, **{name: value})
        return True

    def update(
        self, q: np.ndarray, v: np.ndarray, dt: float, *parts: Any, measured_wrench: Any
    ) -> Command:
        return self.law.update(RobotState(q, v, wrench=measured_wrench), Reference(*parts), dt)


class Implementations(Twins):
    """A law in C++ beside one that derives from it; both resume and miss updates at random."""

    def __init__(self, native: ModuleType, case: Case, dt: float, rng: np.random.Generator) -> None:
        self._rng = rng
        super().__init__(native, case, dt)

    def robot(self, case: Case) -> VMSModel:
        return case.model().with_native(True)

    def make_law(self, case: Case) -> Any:
        derived = in_python(super().make_law(case))
        assert "OfAUser derives from" in derived.implementation
        return derived

    def make_twin(self, native: ModuleType, case: Case) -> Any:
        twin = InCpp(super().make_law(case))
        assert twin.law.implementation == "C++"
        return twin

    def update(self, q: np.ndarray, v: np.ndarray, reference: Reference, dt: float) -> Command:
        laws = (self.law, self.twin.law)
        if self._rng.random() < 0.05 and np.shape(q) == (self.model.nq,) and np.isfinite(q).all():
            for law in laws:
                law.resume(RobotState(self.q, self.v))
        if self._rng.random() < 0.05:
            for law in laws:
                law.note_missed_updates()
        command = super().update(q, v, reference, dt)
        for name in ATTRIBUTES:
            if hasattr(self.law, name):
                ours, theirs = (getattr(law, name) for law in laws)
                self.compare(theirs, ours, 1.0)
        ours, theirs = (getattr(law, "tank", None) for law in laws)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            for name in ("capacity", "level", "unaccounted_energy"):
                self.compare(getattr(theirs, name), getattr(ours, name), command.energy.tank_level)
        safe = [law.safe_output(q) for law in laws]
        self.compare(safe[1].torque, safe[0].torque, 1.0)
        self.compare(safe[1].wrench_base, safe[0].wrench_base, 1.0)
        return command


# One robot for each law; the other robots are compared with the core itself in test_base_laws.
ONE_EACH = {case.law: case for case in reversed(CASES) if case.payload_rate is None}


@pytest.mark.parametrize("law", ONE_EACH)
def test_a_law_and_one_that_derives_from_it_command_the_same(
    native: ModuleType, law: str, rng: np.random.Generator
) -> None:
    case = ONE_EACH[law]
    for script in SCRIPTS:
        if script is pushes and law != "PushingImpedance":
            continue
        if script in (switches, wrenches) and law not in (
            "CartesianImpedance",
            "MobileManipulation",
        ):
            continue
        both = Implementations(native, case, 5e-3, rng)
        script(both, rng, 16)
    both = Implementations(native, case, 5e-3, rng)
    if law == "DecoupledVMSController":
        empty_tank(both, rng, 30)


class TaskSpace(Implementations):
    """The same of the law of fixed arms, whose reference is a position."""

    def elsewhere(self, far: float, rng: np.random.Generator) -> Reference:
        q = self.model.integrate(self.home, far * rng.uniform(-1, 1, self.model.nv))
        place = self.model.evaluate(q, 0 * self.v).placement(self.model.end_effector)
        return Reference(position=place[:3, 3])


@pytest.mark.parametrize("gains", [{}, {"task_stiffness": 150.0}, {"cancel_coupling": True}])
@pytest.mark.parametrize("tank", [0.0, 0.3])
def test_task_space_control_commands_the_same_in_both_forms(
    native: ModuleType, gains: dict[str, float], tank: float, rng: np.random.Generator
) -> None:
    both = TaskSpace(native, Case("panda", law="TaskSpaceIDAPBC"), 2e-3, rng)
    both.begin(0.1, 0.1, rng)
    both.set(tank_capacity=tank, tank_initial=0.5 * tank, torque_rate=300.0, power=3.0, **gains)
    for k in range(90):
        if k % 30 == 10:
            both.set(
                stiffness=rng.uniform(10.0, 60.0),
                damping_task=rng.uniform(2.0, 20.0),
                limit_margin=rng.uniform(0.0, 0.4),
                delay=rng.uniform(0.0, 1.0),
                torque_rate=rng.choice([0.0, 300.0]),
                power=rng.choice([0.0, 3.0]),
            )
        if k == 45:
            for law in (both.law, both.twin.law):
                law.set_minimum(both.q)
        both.step(both.elsewhere(0.2, rng) if k % 40 == 20 else HOLD)


def test_a_law_that_was_not_reset_holds_the_pose_of_its_first_update(native: ModuleType) -> None:
    model = robots.load("panda").with_native(True)
    q = model.configuration(robots.get("panda").home)
    for law in (TaskSpaceIDAPBC(model), in_python(TaskSpaceIDAPBC(model))):
        weight = model.evaluate(q, np.zeros(7)).g
        np.testing.assert_allclose(law(q, np.zeros(7), 1e-3).torque, weight, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(law.q_star, q)


def test_what_is_no_state_and_no_reference_is_taken_alike(native: ModuleType) -> None:
    model = robots.load("hextilt").with_native(True)
    case = Case("hextilt")
    laws = case.make_law(model, None), in_python(case.make_law(model, None))
    q, v = model.neutral_configuration(), np.zeros(model.nv)
    for state in (RobotState(q, v), RobotState(q[1:], v), RobotState(q[None], v)):
        for reference in (
            HOLD,
            Reference(pose=np.eye(3)),
            Reference(joints=np.zeros(2), twist=np.zeros(3)),
            Reference(pose=np.full((4, 4), np.nan), position=[0.1, 0.2]),  # type: ignore[arg-type]
        ):
            one, two = (law.update(state, reference, 1e-3) for law in laws)
            np.testing.assert_allclose(two.torque, one.torque, rtol=0.0, atol=1e-9)
            assert (one.status, one.reason) == (two.status, two.reason)


def test_a_gain_out_of_its_bounds_is_refused_where_it_is_set(native: ModuleType) -> None:
    law = TaskSpaceIDAPBC(robots.load("panda"))
    with pytest.raises(ModelError, match="stiffness of TaskSpaceIDAPBC is a number from 0 to 1000"):
        law.gains = TaskSpaceIDAPBC.Gains(stiffness=-1.0)
    with pytest.raises(ModelError, match="given: nan"):
        law.gains = TaskSpaceIDAPBC.Gains(power=np.nan)


def test_a_law_with_a_payload_runs_in_cpp_within(native: ModuleType) -> None:
    model = robots.load("panda").with_native(True)
    law = PayloadCompensation(TaskSpaceIDAPBC(model))
    q = model.configuration(robots.get("panda").home)
    assert law(q, np.zeros(7), 1e-3).status is Status.OK
    assert isinstance(law.law, TwinnedController)
    assert law.law.implementation == "C++"


def test_hosts_take_laws_in_cpp_where_the_core_is(
    native: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = robots.load("panda").with_native(True)
    kind = "vms_ph_controllers.PoseIDAPBC"
    hosted = HostedController(kind, model, True)
    assert isinstance(hosted.controller, TwinnedController)
    assert hosted.controller.implementation == "C++"
    names = [name for name, *_ in hosted.gains()]
    hosted.set_gain(names[0], 7.0)
    assert getattr(hosted.controller.gains, names[0]) == 7.0
    monkeypatch.setenv("VMS_PH_NATIVE", "0")
    other = HostedController(kind, model, True).controller
    assert isinstance(other, TwinnedController)
    assert other.implementation.startswith("Python: the C++ core is not installed")
