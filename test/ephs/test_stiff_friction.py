# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction that is faster than the step: the motion, the heat and both laws are right."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from vms_ph_dynamics import Friction, VMSModel, integrate
from vms_ph_ephs import Equations, assemble, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.simulation import SCHEMES
from vms_ph_ephs.simulation.steps import Supply
from vms_ph_ephs.simulation.stiff_friction import StiffFriction, StiffProcesses
from vms_ph_io import robots

HORIZON = 5e-3


def rates_in_minimal_coordinates(model: VMSModel, v: np.ndarray) -> np.ndarray:
    """Joint rates after the horizon, by an implicit solver at tight tolerances."""
    friction, data, nq = Friction.from_model(model), model.pinocchio.createData(), model.nq

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        q, u = y[:nq], y[nq:]
        force = np.zeros(model.nv)
        force[model.b :] = friction.force(u[model.b :])
        turn, w = pin.Quaternion(q[6], *q[3:6]), u[3:6]
        vector, scalar = q[3:6], q[6]
        moved = [turn.toRotationMatrix() @ u[:3], 0.5 * (scalar * w + np.cross(vector, w))]
        moved += [[-0.5 * vector @ w], u[6:]]
        return np.concatenate([*moved, pin.aba(model.pinocchio, data, q, u, force)])

    start = np.concatenate([model.neutral_configuration(), v])
    found = solve_ivp(rate, (0.0, HORIZON), start, method="Radau", rtol=1e-8, atol=1e-11)
    return np.asarray(found.y[nq + model.b :, -1])


@pytest.fixture(scope="module")
def hextilt() -> tuple[VMSModel, Equations, np.ndarray, np.ndarray]:
    robot, model = robots.get("hextilt"), robots.load("hextilt")
    equations = assemble(mb.from_urdf(robot.description(), robot.base, robot.gravity), check=False)
    v = np.zeros(model.nv)
    v[model.b :] = 0.5
    x = mb.state_of(equations, model, model.neutral_configuration(), v)
    return model, equations, x, rates_in_minimal_coordinates(model, v)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_dry_friction_of_light_links_is_integrated_at_a_millisecond(
    hextilt: tuple[VMSModel, Equations, np.ndarray, np.ndarray], scheme: str
) -> None:
    # Friction stops the last link within microseconds; the first joint slides all the time.
    model, equations, x, expected = hextilt
    motion = simulate(equations, x, 1e-3, 5, scheme=scheme)
    found = mb.configuration_of(equations, model, motion.final)[1][model.b :]
    # The forces that friction balances are held over a step: 1 ms times their rates.
    np.testing.assert_allclose(found, expected, atol=1e-3 * 0.5)
    assert np.abs(motion.first_law).max() < 1e-9
    assert np.diff(motion.entropy).min() > 0.0


def hinge(friction: object, load: float, heat: mb.Heat | None = None) -> Equations:
    """A body of 1e-5 kg m^2 on a hinge about z, its mass so far out that its weight is a load."""
    body = mb.rigid_body(1e-3, [1e-5, 1e-5, 1e-5], gravity=(0.0, -load / 1e-3 / 0.01, 0.0))
    out = np.eye(4)
    out[0, 3] = -0.01
    joint = mb.joint(mb.Revolute(), None, out, friction=friction, heat=heat, driven=True)
    return assemble(mb.mechanism({"b": body}, {"j": mb.Between("ground", "b", joint)}))


INERTIA = 1e-5 + 1e-3 * 0.01**2


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_loaded_joint_creeps_at_the_speed_at_which_friction_bears_the_load(scheme: str) -> None:
    equations = hinge(mb.Coulomb(0.0, 0.1), 0.05)
    motion = simulate(equations, mb.consistent_state(equations), 1e-3, 50, scheme=scheme)
    creep = -0.01 * np.arctanh(0.5)
    found = mb.joint_velocities(equations, motion.final)["j"][0]
    assert found == pytest.approx(creep, rel=1e-3)
    path = motion.value("j.q_r")[:, 0]
    assert path[-1] - path[5] == pytest.approx(45e-3 * creep, rel=1e-2)
    assert np.abs(motion.first_law).max() < 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_kinetic_energy_warms_a_joint_that_friction_stops(scheme: str) -> None:
    equations = hinge(0.5, 0.0, mb.Heat(capacity=0.01, theta=310.0))
    start = mb.consistent_state(equations, velocities={"j": 30.0})
    motion = simulate(equations, start, 1e-3, 5, scheme=scheme)
    heated = equations.storages.temperatures(motion.final)["j.th.s"] - 310.0
    assert heated == pytest.approx(0.5 * INERTIA * 30.0**2 / 0.01, rel=1e-6)
    assert np.diff(motion.entropy).min() >= 0.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_joint_that_a_motor_reverses_against_friction_produces_entropy(scheme: str) -> None:
    equations = hinge(mb.Coulomb(1e-3, 0.02), 0.0)
    start = mb.consistent_state(equations, velocities={"j": 5.0})
    torque = -0.03
    run = integrate(equations, start, {"j": [torque]}, dt=1e-3, steps=30, scheme=scheme)
    assert not run.failures
    assert run.audit.dissipated.min() > 0.0
    assert abs(run.audit.residual.sum()) < 1e-9
    # In the end viscous friction bears what dry friction leaves of the torque.
    assert equations.rates(run.states[-1]).efforts.size
    speed = mb.joint_velocities(equations, run.states[-1])["j"][0]
    expected = solve_ivp(
        lambda t, u: (torque - 1e-3 * u - 0.02 * np.tanh(u / 0.01)) / INERTIA,
        (0.0, 30e-3),
        [5.0],
        method="Radau",
        rtol=1e-9,
    ).y[0, -1]
    assert speed == pytest.approx(expected, abs=1e-2 * 5.0)


def test_friction_that_is_slower_than_the_step_is_left_to_the_scheme() -> None:
    equations = hinge(1e-3, 0.0)
    x = mb.consistent_state(equations, velocities={"j": 1.0})
    # Its time constant is a hundredth of a second.
    assert StiffFriction(equations, 1.0).find_stiff(x, 5e-3) is None
    found = StiffFriction(equations, 1.0).find_stiff(x, 5e-2)
    assert found is not None
    np.testing.assert_allclose(found.mobility, 1.0 / INERTIA, rtol=1e-10)


def test_a_step_in_which_held_friction_would_supply_power_is_halved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    equations = hinge(mb.Coulomb(0.0, 0.1), 0.05)
    x = mb.consistent_state(equations, velocities={"j": 2.0})
    friction = StiffFriction(equations, 1.0)
    stiff, supply = friction.find_stiff(x, 1e-3), Supply(equations)
    assert stiff is not None
    supply.effort_integral[:] = 1e-3
    # A force against the path takes heat out of the joint.
    assert friction.heat(stiff, np.array([-0.1]), supply) is None
    heated = friction.heat(stiff, np.array([0.1]), supply)
    assert heated is not None
    assert heated[0][1] == pytest.approx(1e-4)
    # Steps of 1 ms are refused here, and their halves are taken.
    whole, original = simulate(equations, x, 5e-4, 20, stride=2), StiffFriction.heat
    refused = []

    def heat(
        self: StiffFriction, stiff: StiffProcesses, force: np.ndarray, given: Supply
    ) -> object:
        refused.append(len(refused) % 3 == 0)
        return None if refused[-1] else original(self, stiff, force, given)

    monkeypatch.setattr(StiffFriction, "heat", heat)
    halved = simulate(equations, x, 1e-3, 10)
    # A refusal and two halves for every step.
    assert len(refused) == 30
    np.testing.assert_allclose(halved.states[1:], whole.states[1:], atol=1e-12)
    assert abs(halved.first_law).max() < 1e-9
