"""A closed loop in C++ moves a robot as the simulation does step by step."""

from types import ModuleType

import numpy as np
import pytest

from vms_ph_controllers import DecoupledVMSController, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_controllers.hosting.native_guard import HeldReference, make_guard
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.simulation import External, Simulation
from vms_ph_dynamics.structure import StandardForm
from vms_ph_io import robots


class Counted(HeldReference):
    """Counts the updates that are asked for one by one."""

    calls = 0

    def __call__(self, q: Array, v: Array, dt: float) -> object:
        self.calls += 1
        return super().__call__(q, v, dt)


class StepByStep(Counted):
    """The same law without the loop in C++."""

    def in_cpp(self) -> None:
        return None


def simulations(name: str, friction: bool) -> list[Simulation]:
    known = robots.get(name)
    model = known.load()
    home = model.configuration(known.home, known.home_base or None)
    start = model.integrate(home, np.full(model.nv, 0.05))
    law = DecoupledVMSController if model.b else TaskSpaceIDAPBC
    made = []
    for kind in (Counted, StepByStep):
        guard = make_guard(law(model), native=True)
        guard.reset(RobotState(home, np.zeros(model.nv)))
        control = kind(guard, Reference())
        made.append(
            Simulation(StandardForm(model), start, 1e-3, control, friction=friction, native=True)
        )
    return made


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize("name", ["panda", "hextilt", "omnidirectional_panda"])
def test_many_steps_at_once_are_the_steps_one_by_one(
    native: ModuleType, name: str, friction: bool, rng: np.random.Generator
) -> None:
    at_once, one_by_one = simulations(name, friction)
    model = robots.load(name)
    pushes = (
        External(),
        External(
            torque=0.1 * rng.normal(size=model.n),
            wrench_base=0.1 * rng.normal(size=model.b),
            wrench_end_effector=0.1 * rng.normal(size=6),
        ),
        External(wrench_end_effector=0.1 * rng.normal(size=6), in_tool_axes=False),
        External(),
    )
    for push in pushes:
        for simulation in (at_once, one_by_one):
            simulation.advance(60, push)
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
    assert at_once.steps == one_by_one.steps == 240
    # One at the beginning, and those under a wrench in other axes than the tool's, or under
    # friction that the scheme cannot follow.
    counted = at_once._control
    assert isinstance(counted, Counted)
    assert counted.calls == 1 + (60 if at_once._held_friction is None else 240)


def test_a_step_that_fails_is_left_to_the_steps_one_by_one(native: ModuleType) -> None:
    at_once, one_by_one = simulations("panda", False)
    hard = External(torque=np.array([0.0, 0, 0, 0, 0, 0, 3e4]))
    for simulation in (at_once, one_by_one):
        simulation.hold(hard)
        simulation.advance(3, hard)
    assert at_once.failures == one_by_one.failures
    assert at_once.failures or at_once.failure
    assert at_once.failure == one_by_one.failure
    assert at_once.steps == one_by_one.steps
    np.testing.assert_allclose(at_once.sample().q, one_by_one.sample().q, rtol=1e-9, atol=1e-9)
