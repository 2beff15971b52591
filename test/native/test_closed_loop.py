# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A closed loop in C++ moves a robot as the simulation does step by step."""

from types import ModuleType

import numpy as np
import pytest

from vms_ph_controllers import (
    Command,
    DecoupledVMSController,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.hosting.supervisor import ConstantReference, Supervisor
from vms_ph_dynamics import Array, Ports, StandardForm
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.simulation import FormEngine, Simulation, in_world_axes
from vms_ph_io import robots


class Counted(ConstantReference):
    """Counts the updates that are asked for one by one."""

    calls = 0

    def __call__(self, q: Array, v: Array, dt: float) -> object:
        self.calls += 1
        return super().__call__(q, v, dt)


class InPython(Counted):
    """The same law as a function of Python, which the loop in C++ calls at every step."""

    def cpp_law(self) -> None:
        return None


class StepByStep(Simulation):
    """A simulation without the loop in C++."""

    def _advance_in_cpp(self, steps: int, external: Efforts | None) -> int:
        return 0


def simulations(
    name: str, friction: bool, kind: type[Counted] = Counted
) -> tuple[Simulation, StepByStep]:
    known = robots.get(name)
    model = known.load()
    home = model.configuration(known.home, known.home_base or None)
    start = model.integrate(home, np.full(model.nv, 0.05))
    law = DecoupledVMSController if model.b else TaskSpaceIDAPBC
    controls = []
    for control in (kind, Counted):
        guard = Supervisor(law(model.with_native(True)))
        guard.reset(RobotState(home, np.zeros(model.nv)))
        controls.append(control(guard, Reference()))
    form = StandardForm(model)
    return (
        Simulation(form, start, 1e-3, controls[0], friction, engine=FormEngine(native=True)),
        StepByStep(form, start, 1e-3, controls[1], friction, engine=FormEngine(native=True)),
    )


@pytest.mark.parametrize("kind", [Counted, InPython])
@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("name", ["panda", "hextilt", "omnidirectional_panda"])
def test_many_steps_at_once_are_the_steps_one_by_one(
    native: ModuleType, name: str, friction: bool, kind: type[Counted], rng: np.random.Generator
) -> None:
    at_once, one_by_one = simulations(name, friction, kind)
    model = robots.load(name)
    pushes = (
        Ports(),
        Ports(
            torque=0.1 * rng.normal(size=model.n),
            wrench_base=0.1 * rng.normal(size=model.b),
            wrench_end_effector=0.1 * rng.normal(size=6),
        ),
        in_world_axes(model, Ports(wrench_end_effector=0.1 * rng.normal(size=6))),
        Ports(),
    )
    for push in pushes:
        for simulation in (at_once, one_by_one):
            simulation.advance(30, push)
        found, expected = at_once.sample(), one_by_one.sample()
        for term in (
            "time",
            "q",
            "v",
            "torque",
            "wrench_base",
            "wrench_end_effector",
            "dissipated",
        ):
            np.testing.assert_allclose(
                getattr(found, term), getattr(expected, term), rtol=1e-12, atol=1e-12
            )
        assert found.port_energy == pytest.approx(expected.port_energy, rel=1e-11, abs=1e-11)
    assert at_once.steps == one_by_one.steps == 120
    # One at the beginning, and those under a wrench in other axes than the tool's, or under
    # friction that the scheme cannot follow.
    counted = at_once._control
    assert isinstance(counted, Counted)
    each = kind is InPython or at_once._held_friction is not None
    assert counted.calls == 1 + (120 if each else 30)


@pytest.mark.parametrize("failure", [ArithmeticError("no effort"), KeyboardInterrupt()])
def test_what_a_control_raises_comes_after_the_steps_before_it(
    native: ModuleType, failure: BaseException
) -> None:
    class Failing(InPython):
        def __call__(self, q: Array, v: Array, dt: float) -> object:
            if self.calls == 21:
                raise failure
            return super().__call__(q, v, dt)

    simulated = simulations("panda", False, Failing)
    one_by_one = simulations("panda", False)[1]
    one_by_one.advance(21, Ports())
    with pytest.raises(type(failure)) as caught:
        simulated[0].advance(60, Ports())
    assert caught.value is failure
    assert simulated[0].steps == 21
    np.testing.assert_allclose(simulated[0].sample().q, one_by_one.sample().q, rtol=1e-12)


def test_efforts_of_a_wrong_size_are_refused(native: ModuleType) -> None:
    class Short(InPython):
        def __call__(self, q: Array, v: Array, dt: float) -> object:
            return Command(np.zeros(0), np.zeros(7 if self.calls == 0 else 6))

    simulation = simulations("panda", False, Short)[0]
    assert isinstance(simulation._control, Short)
    simulation._control.calls = 1
    with pytest.raises(ValueError, match=r"torque must have shape \(7,\); given: \(6,\)"):
        simulation.advance(10, Ports())


@pytest.mark.parametrize("kind", [Counted, InPython])
def test_a_step_that_fails_is_left_to_the_steps_one_by_one(
    native: ModuleType, kind: type[Counted]
) -> None:
    at_once, one_by_one = simulations("panda", False, kind)
    hard = Ports(torque=np.array([0.0, 0, 0, 0, 0, 0, 3e4]))
    for simulation in (at_once, one_by_one):
        simulation.apply(hard)
        simulation.advance(3, hard)
    assert at_once.failures == one_by_one.failures
    assert at_once.failures or at_once.failure
    assert at_once.failure == one_by_one.failure
    assert at_once.steps == one_by_one.steps
    np.testing.assert_allclose(at_once.sample().q, one_by_one.sample().q, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("friction", [False, True])
def test_an_arm_that_falls_for_a_second_at_once_meets_its_stops(
    native: ModuleType, friction: bool
) -> None:
    model = robots.load("panda")
    home = model.configuration(robots.get("panda").home)

    def limp(q: Array, v: Array, dt: float) -> Command:
        return Command(np.zeros(0), np.zeros(7))

    fallen = []
    for in_cpp in (True, False):
        arm = Simulation(
            StandardForm(model),
            home,
            2e-3,
            limp,
            friction,
            joint_stops=True,
            engine=FormEngine(native=in_cpp),
        )
        arm.advance(500, Ports())
        fallen.append(arm.sample())
    assert fallen[1].dissipated > 10.0
    for now in fallen:
        positions = model.joint_positions(now.q)
        assert (positions > model.joints.lower - 0.01).all()
        assert (positions < model.joints.upper + 0.01).all()
    np.testing.assert_allclose(fallen[0].q, fallen[1].q, rtol=0, atol=1e-6)
    assert fallen[0].dissipated == pytest.approx(fallen[1].dissipated, rel=1e-6)


def test_a_function_may_leave_out_the_wrench_of_the_base(native: ModuleType) -> None:
    model = robots.load("hextilt").with_native(True)
    form, engine, ends = StandardForm(model), FormEngine("projected_rk4", True), []
    for kind in (Simulation, StepByStep):
        loop = kind(
            form, model.home, 1e-3, lambda q, v, dt: Ports(np.full(model.n, 0.01)), engine=engine
        )
        loop.advance(20)
        ends.append(loop.sample().q)
    np.testing.assert_allclose(*ends, atol=1e-12)
