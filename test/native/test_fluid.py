# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in a fluid in C++ is the one in Python: its terms, its laws and its steps."""

from types import ModuleType

import numpy as np
import pytest

from vms_ph_controllers import DecoupledVMSController, Reference, RobotState
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import Friction, Ports, StandardForm, VMSModel
from vms_ph_dynamics.integrators import make_stepper
from vms_ph_io import robots

from .conftest import native_model

TERMS = ("M", "M_b_inverse", "A", "M_hat_m", "C", "g", "momentum")


@pytest.fixture(scope="module")
def model() -> VMSModel:
    return robots.load("bluerov2_alpha5")


def test_its_terms_and_energies_are_the_same(
    native: ModuleType, parity: ModuleType, model: VMSModel, rng: np.random.Generator
) -> None:
    d = parity.Evaluation(native_model(native, model))
    for _ in range(5):
        q, v = model.random_configuration(rng), rng.uniform(-1.0, 1.0, model.nv)
        expected = model.evaluate(q, v)
        d.set(q, v)
        for term in TERMS:
            theirs = getattr(expected, term)
            np.testing.assert_allclose(
                getattr(d, term), theirs, rtol=0.0, atol=1e-13 * (1.0 + np.abs(theirs).max())
            )
        assert d.kinetic_energy == pytest.approx(expected.kinetic_energy, rel=1e-13)
        assert d.potential_energy == pytest.approx(expected.potential_energy, abs=1e-11)


def test_a_law_with_thrusters_commands_the_same(native: ModuleType, model: VMSModel) -> None:
    thrusters = robots.get("bluerov2_alpha5").own_actuators().allocation
    ours = DecoupledVMSController(model, allocation=thrusters)
    theirs = native.make_law(
        "DecoupledVMSController",
        native_model(native, model),
        allocation=native.Allocation.of_matrix(thrusters.matrix, thrusters.lower, thrusters.upper),
    )
    q, goal = model.neutral_configuration(), np.eye(4)
    goal[:3, 3] = (3.0, 2.0, 4.0)
    fast = {"base_speed": 20.0, "frequency_base": 3.0}
    ours.gains = type(ours.gains)(**fast)
    assert all(theirs.set_gain(*gain) for gain in fast.items())
    ours.reset(RobotState(q, np.zeros(model.nv)))
    assert theirs.reset(q, np.zeros(model.nv))
    reasons = set()
    for k in range(25):
        v = 0.1 * np.sin(0.3 * k + np.arange(model.nv))
        q = model.integrate(q, 0.02 * v)
        one = ours.update(RobotState(q, v), Reference(pose=goal), 0.02)
        two = theirs.update(q, v, 0.02, pose=goal)
        np.testing.assert_allclose(two.wrench_base, one.wrench_base, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(two.torque, one.torque, rtol=0.0, atol=1e-10)
        assert two.reason == one.reason
        reasons.add(one.reason[:13])
        inputs = np.linalg.lstsq(thrusters.matrix, two.wrench_base, rcond=None)[0]
        np.testing.assert_allclose(thrusters.matrix @ inputs, two.wrench_base, atol=1e-9)
    assert "base wrench a" in reasons  # at its limit


@pytest.mark.parametrize("law", ["CartesianImpedance", "PoseIDAPBC", "MobileManipulation"])
def test_a_guarded_law_is_in_cpp_where_the_core_is_and_commands_the_same(
    native: ModuleType, model: VMSModel, law: str
) -> None:
    thrusters = robots.get("bluerov2_alpha5").own_actuators().allocation
    one, two = (
        Supervisor(
            make_controller(f"vms_ph_controllers.{law}", model.with_native(core), thrusters),
            thrusters,
        )
        for core in (False, True)
    )
    assert two.twin is not None
    q = model.neutral_configuration()
    one.reset(RobotState(q, np.zeros(model.nv)))
    two.reset(RobotState(q, np.zeros(model.nv)))
    for k in range(40):
        v = 0.05 * np.sin(0.1 * k + np.arange(model.nv))
        q = model.integrate(q, 0.01 * v)
        state, asked = RobotState(q, v), Reference(joints=0.2 * np.ones(model.n))
        slow, fast = one.update(state, asked, 0.01), two.update(state, asked, 0.01)
        assert (fast.status, fast.reason) == (slow.status, slow.reason)
        np.testing.assert_allclose(fast.wrench_base, slow.wrench_base, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(fast.torque, slow.torque, rtol=0.0, atol=1e-9)
        assert np.abs(fast.wrench_base).max() > 0.01


def test_a_step_is_of_fourth_order_the_same_and_counts_drag(
    native: ModuleType, model: VMSModel, rng: np.random.Generator
) -> None:
    form, same = StandardForm(model), native_model(native, model)
    q, v = model.random_configuration(rng), rng.uniform(-0.5, 0.5, model.nv)
    # The last link has an inertia of 1e-4 kg m^2.
    torque, wrench = rng.uniform(-0.01, 0.01, model.n), rng.uniform(-5.0, 5.0, 6)
    pull, viscous = rng.uniform(-0.05, 0.05, 6), np.full(model.n, 1e-3)
    coulomb = np.full(model.n, 1e-3)
    ours = make_stepper("rkmk4", form, native=False)
    acting = Ports(torque, wrench, pull, friction=Friction(viscous, coulomb, 1.0))
    held = native.Ports(same, torque, wrench, pull, viscous, coulomb, 1.0)
    theirs = native.Scheme(same, "rkmk4")
    apart = []
    for dt in (4e-3, 2e-3):
        x, y = ours.begin(form.state(q, v), 0.0), theirs.begin(q, v)
        dissipated = supplied = 0.0
        for k in range(2):
            step = ours.step(x, acting, k * dt, dt)
            x = step.solver_state
            y, result = theirs.step(y, held, k * dt, dt)
            assert not result.failed
            dissipated += result.dissipated_energy
            supplied += sum(result.supplied_energy)
        (q1, v1), (q2, v2) = ours.motion(x), theirs.motion(y)
        apart.append(max(np.abs(model.difference(q1, q2)).max(), np.abs(v1 - v2).max()))
        before, after = model.evaluate(q, v), model.evaluate(q2, v2)
        stored = after.kinetic_energy - before.kinetic_energy
        stored += after.potential_energy - before.potential_energy
        assert dissipated > 1e-4
        assert stored == pytest.approx(supplied - dissipated, abs=1e-8)
    # Momenta are integrated there, velocities here: the difference is that of their errors.
    assert apart[1] < 1e-8
    assert apart[1] < apart[0] / 12.0


def test_coefficients_that_cannot_be_are_refused_in_a_sentence(
    native: ModuleType, model: VMSModel
) -> None:
    robot = native_model(native, model)
    assert model.fluid is not None
    body = model.fluid.bodies[0]
    link, volume, centre = body.link, body.volume, body.centre_of_buoyancy
    mass, linear, quadratic = body.added_mass.ravel(), body.linear_drag, body.quadratic_drag
    for wrong, what in (
        ([("tail", mass, volume, centre, linear, quadratic)], "no frame 'tail'"),
        ([(link, -mass, volume, centre, linear, quadratic)], "positive semi-definite"),
        ([(link, mass, -1.0, centre, linear, quadratic)], "volume must not be negative"),
        ([(link, mass, volume, centre, -linear, quadratic)], "drag must not be negative"),
        (
            [(link, mass[:6], volume, centre, linear, quadratic)],
            r"added_mass must have shape \(36,\); given: \(6,\)",
        ),
    ):
        with pytest.raises(native.ModelError, match=what):
            robot.in_fluid(wrong, 1000.0)  # type: ignore[attr-defined]
    with pytest.raises(native.ModelError, match="density of a fluid must be positive"):
        robot.in_fluid([], 0.0)  # type: ignore[attr-defined]
