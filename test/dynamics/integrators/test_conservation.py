# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What conservative motion conserves, recomputed by Pinocchio from configuration and velocity."""

from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import (
    CentreOfMassTask,
    DecoupledForm,
    PHState,
    Ports,
    StandardForm,
    VMSModel,
    integrate,
)
from vms_ph_dynamics.integrators import SCHEMES, StepFailure, make_stepper

from .conftest import centred, moving, panda_on, seen

EXACT = ("projected_rk4", "projected_midpoint", "discrete_gradient")
SPACE = Ports(gravity=False)

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="bob">
      <inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="pivot" type="revolute"><parent link="base"/><child link="bob"/>
      <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="1" velocity="9"/></joint></robot>"""


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("scheme", EXACT)
def test_energy_and_momentum_of_a_free_floating_arm_do_not_change(
    scheme: str, dt: float, still_centre: tuple[DecoupledForm, PHState]
) -> None:
    form, x = still_centre
    run = integrate(form, x, SPACE, dt=dt, steps=80, scheme=scheme, stride=20)
    assert not run.failures
    first, later = seen(form, x), [seen(form, state) for state in run.states]
    energy = max(abs(s.kinetic / first.kinetic - 1) for s in later)
    momentum = max(np.abs(s.angular - first.angular).max() for s in later)
    linear = max(np.abs(s.linear).max() for s in later)
    # Velocities come from momenta by a solve, good to 1e-15 times the condition of the inertia.
    assert energy < 1e-13
    assert momentum < 1e-13
    assert linear < 1e-13


@pytest.mark.parametrize("scheme", EXACT)
def test_a_drifting_arm_keeps_its_momentum_and_its_centre_of_mass_goes_straight(
    scheme: str, reference: tuple[DecoupledForm, PHState, dict[str, list[float]]]
) -> None:
    form, x, _ = reference
    run = integrate(form, x, SPACE, dt=0.01, steps=80, scheme=scheme, stride=20)
    first = seen(form, x)
    for t, state in zip(run.t, run.states, strict=True):
        now = seen(form, state)
        np.testing.assert_allclose(now.linear, first.linear, rtol=0, atol=1e-12)
        np.testing.assert_allclose(now.angular, first.angular, rtol=0, atol=1e-12)
        straight = first.centre + t * first.linear / form.model.total_mass
        np.testing.assert_allclose(now.centre, straight, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pace", [1.0, 1e-5])
def test_a_step_too_long_for_a_motion_in_space_is_refused_at_any_pace(
    pace: float, still_centre: tuple[DecoupledForm, PHState]
) -> None:
    # A slower motion goes through the same states, with its energy less by the square.
    form, x = still_centre
    stepper = make_stepper("projected_rk4", form, native=False)
    begin = stepper.begin(form.state(x.q, pace * form.velocity(x)), 0.0)
    stepper.step(begin, Ports(), 0.0, 0.3 / pace)
    with pytest.raises(StepFailure, match="the energy is off"):
        stepper.step(begin, Ports(), 0.0, 1.0 / pace)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_reaches_the_reference_state(
    scheme: str, reference: tuple[DecoupledForm, PHState, dict[str, list[float]]]
) -> None:
    form, x, golden = reference
    # Schemes of second order reach it by extrapolation; that of one is even in the step.
    second = {"projected_midpoint": (1000, 2000), "discrete_gradient": (60, 120, 240)}
    ends = []
    for steps in second.get(scheme, (400,)):
        dt = golden["T"] / steps  # type: ignore[operator]
        run = integrate(form, x, SPACE, dt=dt, steps=steps, scheme=scheme, stride=steps)
        ends.append(run.states[-1].q)
    for factor in (4, 16)[: len(ends) - 1]:
        ends = [fine + (fine - coarse) / (factor - 1) for coarse, fine in pairwise(ends)]
    q, atol = ends[-1], golden["tol"]
    np.testing.assert_allclose(q[7:], golden["q_end"], rtol=0, atol=atol)
    np.testing.assert_allclose(q[:3], golden["t_end"], rtol=0, atol=atol)


@pytest.mark.parametrize("scheme", EXACT)
def test_a_fixed_arm_under_gravity_keeps_its_energy(scheme: str) -> None:
    form, x = moving(panda_on("fixed"))
    run = integrate(form, x, dt=1e-3, steps=100, scheme=scheme, stride=20)
    assert not run.failures
    first = seen(form, x)
    # Kinetic energy comes and goes by tens of joules; relative to the largest, as a ratio.
    largest = max(seen(form, state).kinetic for state in run.states)
    drift = max(abs(seen(form, state).energy - first.energy) for state in run.states)
    assert drift < 1e-13 * (largest + abs(first.potential))


@pytest.mark.parametrize("scheme", EXACT)
@pytest.mark.parametrize("base", ["planar", "floating"])
def test_a_falling_robot_keeps_its_internal_energy_and_its_parabola(base: str, scheme: str) -> None:
    # Tilted, so that on the planar base a part of gravity pulls along the plane.
    gravity = np.array([1.0, -2.0, -9.0])
    model = panda_on(base, tuple(gravity))
    form, x = moving(model)
    run = integrate(form, x, dt=1e-3, steps=100, scheme=scheme, stride=25)
    first = seen(form, x)
    k = 2 if base == "planar" else 3
    for t, state in zip(run.t, run.states, strict=True):
        now = seen(form, state)
        expected = (
            first.centre
            + t * first.linear / model.total_mass
            + 0.5 * t**2 * np.where(np.arange(3) < k, gravity, 0.0)
        )
        np.testing.assert_allclose(now.centre[:k], expected[:k], rtol=0, atol=1e-12)
        turning = slice(2, 3) if base == "planar" else slice(0, 3)
        # On a planar base the constraint takes the moments that tilt it, and gravity none about z.
        np.testing.assert_allclose(
            now.about_centre[turning], first.about_centre[turning], rtol=0, atol=1e-12
        )
    internal = [seen(form, state).internal(model.total_mass, k) for state in run.states]
    if base == "planar":
        across = [float(seen(form, s).centre[2] * 9.0 * model.total_mass) for s in run.states]
        internal = [a + b for a, b in zip(internal, across, strict=True)]
    # The energy of the fall is subtracted, so rounding is that of the whole.
    largest = max(seen(form, state).kinetic for state in run.states)
    np.testing.assert_allclose(internal, internal[0], rtol=0, atol=1e-13 * (largest + 100.0))


def test_the_discrete_gradient_runs_back_to_where_it_began(
    reference: tuple[DecoupledForm, PHState, dict[str, list[float]]],
) -> None:
    form, x, _ = reference
    there = integrate(form, x, SPACE, dt=0.01, steps=50, scheme="discrete_gradient").states[-1]
    back = integrate(form, there, SPACE, dt=-0.01, steps=50, scheme="discrete_gradient").states[-1]
    # The steps are solved to a share of 1e-11.
    np.testing.assert_allclose(form.model.difference(x.q, back.q), 0, atol=1e-9)
    np.testing.assert_allclose(back.z, x.z, atol=1e-9)


def test_the_projection_beats_plain_runge_kutta_on_the_way(
    reference: tuple[DecoupledForm, PHState, dict[str, list[float]]],
) -> None:
    decoupled, x, _ = reference
    form = StandardForm(decoupled.model)
    start = form.state(x.q, decoupled.velocity(x))
    exact = integrate(form, start, SPACE, dt=2e-3, steps=300, scheme="projected_rk4", stride=300)
    errors = {}
    for scheme in ("projected_rk4", "rk4"):
        run = integrate(form, start, SPACE, dt=0.02, steps=30, scheme=scheme, stride=30)
        apart = form.model.difference(exact.states[-1].q, run.states[-1].q)
        errors[scheme] = np.abs(apart).max()
    assert errors["projected_rk4"] < errors["rk4"] / 3


@pytest.mark.parametrize("scheme", EXACT)
def test_a_robot_whose_joints_stand_still_turns_as_one_body(scheme: str) -> None:
    # Two bodies joined by a revolute joint along the axis of rotation: the shape has no energy,
    # and nothing ever gives it any.
    model = pin.Model()
    root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    model.appendBodyToJoint(root, pin.Inertia(2.0, np.zeros(3), np.diag([0.3, 0.3, 0.1])), _here())
    arm = model.addJoint(root, pin.JointModelRZ(), pin.SE3.Identity(), "joint")
    model.appendBodyToJoint(arm, pin.Inertia(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.2])), _here())
    model.addBodyFrame("arm", arm, pin.SE3.Identity(), 0)
    model.gravity.linear = np.zeros(3)
    robot = VMSModel.from_pinocchio(model, "arm")
    form = DecoupledForm(robot)
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0])
    run = integrate(
        form,
        form.state(robot.neutral_configuration(), v),
        SPACE,
        dt=0.01,
        steps=60,
        scheme=scheme,
        stride=20,
    )
    assert not run.failures
    for t, state in zip(run.t, run.states, strict=True):
        np.testing.assert_allclose(form.velocity(state), v, atol=1e-14)
        angle = 2 * np.arctan2(state.q[5], state.q[6])
        lag = 0.0 if scheme.startswith("projected") else 1e-3
        assert (angle - 2.0 * t + np.pi) % (2 * np.pi) - np.pi == pytest.approx(0, abs=lag + 1e-12)


def test_a_pendulum_that_stops_at_its_turning_points_keeps_its_energy() -> None:
    # From rest: the kinetic energy is zero there, and twice in every swing.
    form = DecoupledForm(VMSModel.from_urdf(PENDULUM))
    x = form.state(np.array([1.2]), np.zeros(1))
    first = seen(form, x)
    for scheme in EXACT:
        run = integrate(form, x, dt=0.01, steps=170, scheme=scheme)
        kinetic = [seen(form, state).kinetic for state in run.states]
        assert min(kinetic[1:]) < 1e-3 * max(kinetic)
        drift = max(abs(seen(form, state).energy - first.energy) for state in run.states)
        assert drift < 1e-13 * max(kinetic)
        if scheme.startswith("projected"):
            assert not run.failures


def _here() -> pin.SE3:
    return pin.SE3.Identity()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_arm_whose_weight_is_carried_stays_where_it_is(scheme: str, panda: VMSModel) -> None:
    q = np.array([0.3, -0.5, 0.2, -1.8, 0.4, 1.5, -0.6])
    form, rest = StandardForm(panda), np.zeros(7)
    run = integrate(
        form,
        form.state(q, rest),
        Ports(panda.evaluate(q, rest).g),
        dt=1e-3,
        steps=20,
        scheme=scheme,
    )
    assert not run.failures
    np.testing.assert_allclose(run.q[-1], q, rtol=0, atol=1e-13)
    assert run.energy[-1] == pytest.approx(run.energy[0], rel=1e-14)


def test_the_centred_motion_has_no_linear_momentum(satellite: VMSModel) -> None:
    form, x = centred(satellite)
    np.testing.assert_allclose(seen(form, x).linear, 0, atol=1e-13)


@pytest.mark.parametrize(
    ("scheme", "tolerance"), [("projected_rk4", 1e-6), ("discrete_gradient", 1e-13)]
)
def test_a_turning_thrust_through_the_centre_of_mass_does_not_turn_the_robot(
    scheme: str, tolerance: float
) -> None:
    form, x = moving(panda_on("floating"))
    task, mass, speeds = CentreOfMassTask(form.model), form.model.total_mass, []

    def thrust(t: float, x: PHState) -> Ports:
        d = form.evaluation(x)
        speeds.append(np.linalg.norm(d.p[:3]) / mass)
        force = task.jacobian(d).T @ (200.0 * np.array([np.cos(9 * t), np.sin(9 * t), 0.0]))
        return Ports(force[6:], force[:6])

    run = integrate(form, x, thrust, dt=0.01, steps=10, scheme=scheme)
    first, last = seen(form, x), seen(form, run.states[-1])
    np.testing.assert_allclose(last.about_centre, first.about_centre, rtol=0, atol=tolerance)
    # Nor is the thrust asked for at a speed to which it and the weight cannot drive the robot.
    assert max(speeds) < speeds[0] + 0.1 * (200.0 / mass + 9.81)
