# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An arm with a force-torque sensor moves as if it had less inertia, and stays passive."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Command,
    Controller,
    EnergyGuard,
    PushingImpedance,
    Reference,
    RobotState,
    Status,
)
from vms_ph_controllers.hosting.hosted_controller import HostedController
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_controllers.laws import wrench_feedback
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_controllers.laws.twinned_controller import TwinnedController
from vms_ph_dynamics import Evaluation
from vms_ph_io import robots

HOLD = Reference()
STEP = 1e-3
NOW = 1e-9  # time between evaluations of the law at one instant, s
SHARE = 0.6
NO_WRENCH = np.zeros(6)


class Arm:
    """An FR3 under a law whose efforts are held for a sample; a wrench acts on its end effector."""

    def __init__(self, law: type[CartesianImpedance] = CartesianImpedance, **gains: float) -> None:
        self.model = robots.load("fr3")
        self.law = law(self.model)
        self.law.gains = replace(self.law.gains, **gains)
        self.q, self.v = self.model.home, np.zeros(self.model.nv)
        self.law.reset(RobotState(self.q, self.v))
        self._d: Evaluation | None = None
        self.start = self.position()
        self._data = self.model.pinocchio.createData()

    @property
    def d(self) -> Evaluation:
        if self._d is None or self._d_q is not self.q:
            self._d, self._d_q = self.model.evaluate(self.q, np.zeros(self.model.nv)), self.q
        return self._d

    def position(self) -> np.ndarray:
        return self.d.placement(self.model.end_effector)[:3, 3]

    def jacobian(self) -> np.ndarray:
        return self.d.J_end_effector

    def update(self, wrench: np.ndarray | None, dt: float = STEP) -> Command:
        return self.law.update(RobotState(self.q, self.v, wrench=wrench), HOLD, dt)

    def measure_nothing(self) -> None:
        """Let the feedback come into force at rest."""
        for _ in range(25):
            self.update(NO_WRENCH, 0.05)

    def acceleration(self, torque: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        effort = torque + self.jacobian().T @ wrench
        return np.array(pin.aba(self.model.pinocchio, self._data, self.q, self.v, effort))

    def move(self, torque: np.ndarray, wrench: np.ndarray, time: float) -> None:
        self.v = self.v + time * self.acceleration(torque, wrench)
        self.q = self.model.integrate(self.q, time * self.v)

    def in_tool_axes(self, force: np.ndarray) -> np.ndarray:
        rotation = self.d.placement(self.model.end_effector)[:3, :3]
        return np.concatenate([force @ rotation, np.zeros(3)])


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("share", [1.0, 0.8, SHARE, 0.55])
def test_a_push_accelerates_a_lighter_arm_and_displaces_it_as_far(share: float) -> None:
    arm = Arm(stiffness=800.0, damping=160.0, inertia_share=share)
    arm.measure_nothing()
    force = np.array([0.0, 6.0, 8.0])
    wrench = arm.in_tool_axes(force)
    at_rest = arm.update(wrench, NOW).torque
    unshaped = Arm().jacobian() @ arm.acceleration(arm.d.g, wrench)
    shaped = arm.jacobian() @ arm.acceleration(at_rest, wrench)
    np.testing.assert_allclose(shaped, unshaped / share, rtol=1e-7, atol=1e-9)
    for _ in range(1500):
        wrench = arm.in_tool_axes(force)
        arm.move(arm.update(wrench).torque, wrench, STEP)
    # What is left of the slowest motion, exp(-t K / D).
    np.testing.assert_allclose(arm.position() - arm.start, force / 800.0, rtol=1e-2, atol=1e-4)


@pytest.mark.usefixtures("core")
def test_the_power_of_the_wrench_is_in_the_books(rng: np.random.Generator) -> None:
    arm = Arm(inertia_share=SHARE, force_limit=3.0)
    arm.measure_nothing()
    home, gain = arm.q, 1.0 / SHARE - 1.0
    for _ in range(10):
        arm.q = arm.model.integrate(home, 0.05 * rng.uniform(-1, 1, 7))
        arm.v = 0.2 * rng.uniform(-1, 1, 7)
        wrench = 10.0 * rng.uniform(-1, 1, 6)
        twist = arm.jacobian() @ arm.v
        without, command = arm.update(NO_WRENCH, NOW), arm.update(wrench, NOW)
        effort = command.torque - without.torque
        np.testing.assert_allclose(effort, gain * arm.jacobian().T @ wrench, rtol=1e-6, atol=1e-9)
        supplied = command.energy.reference_power - without.energy.reference_power
        assert supplied == pytest.approx(gain * float(wrench @ twist), rel=1e-6, abs=1e-9)
        # All power that comes in changes the energy of the closed loop.
        acceleration, q, v, h = arm.acceleration(command.torque, wrench), arm.q, arm.v, 1e-5
        energies = []
        for time in (-h, h):
            arm.q = arm.model.integrate(q, time * v + 0.5 * time**2 * acceleration)
            arm.v = v + time * acceleration
            energies.append(arm.update(wrench, NOW).energy.closed_loop_energy)
        e = command.energy
        power = e.reference_power + e.clipped_power - e.damping_task - e.damping_null
        rate = (energies[1] - energies[0]) / (2 * h)
        assert rate == pytest.approx(power + float(wrench @ twist), rel=1e-5, abs=1e-5)


@pytest.mark.usefixtures("core")
def test_a_hand_puts_in_what_the_lighter_arm_stores_and_damps() -> None:
    """``dS/dt = e^T F - e^T D e - R`` with ``S = T / (1 + k) + V``."""
    arm = Arm(inertia_share=SHARE, stiffness=300.0, damping=20.0)
    arm.measure_nothing()
    supplied = stored = 0.0
    for step in range(600):  # of 1 ms
        wrench = arm.in_tool_axes(np.array([15.0 * np.sin(2e-2 * step), -10.0 * (step < 300), 5.0]))
        command = arm.update(wrench)
        stored = SHARE * command.energy.closed_loop_energy
        assert stored <= supplied + 1e-3
        twist = arm.jacobian() @ arm.v
        arm.move(command.torque, wrench, STEP)
        supplied += 0.5 * STEP * float(wrench @ (twist + arm.jacobian() @ arm.v))
    assert stored > 0.02


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("missing", [None, np.full(6, np.nan), np.full(6, np.inf), np.full(6, 1e9)])
def test_without_a_wrench_the_arm_is_as_it_is(
    missing: np.ndarray | None, rng: np.random.Generator
) -> None:
    arm, ordinary_arm = (
        Arm(inertia_share=SHARE, friction_compensation=0.5),
        Arm(friction_compensation=0.5),
    )
    supervised = Supervisor(arm.law)
    supervised.reset(RobotState(arm.q, arm.v))
    for _ in range(20):
        arm.v = ordinary_arm.v = 0.1 * rng.uniform(-1, 1, 7)
        arm.q = ordinary_arm.q = arm.model.integrate(arm.q, STEP * arm.v)
        command = supervised.update(RobotState(arm.q, arm.v, wrench=missing), HOLD, STEP)
        assert command.status is not Status.HOLDING
        np.testing.assert_array_equal(command.torque, ordinary_arm.update(None).torque)


@pytest.mark.usefixtures("core")
def test_a_wrench_that_is_lost_and_found_makes_no_jump() -> None:
    arm = Arm(inertia_share=SHARE)
    arm.measure_nothing()
    # It leans on a hand: what pulls it back and the wrench are in balance.
    wrench = arm.in_tool_axes(np.array([0.0, 0.0, -10.0]))
    for _ in range(1500):
        arm.move(arm.update(wrench).torque, wrench, STEP)
    torques = [arm.update(wrench).torque]
    for k in range(3000):
        torques.append(arm.update(None if k < 1500 else wrench).torque)
    largest = np.abs(torques[0] - arm.d.g).max()
    # A lost wrench fades out in a tenth of a second; feedback comes back in a whole one.
    changes = np.abs(np.diff(torques, axis=0))
    assert changes.max() < 12.0 * STEP * largest
    assert changes[1500:].max() < 3.0 * STEP * largest
    np.testing.assert_allclose(torques[-1], torques[0], atol=1e-9)


def press(delay: int, share: float, stiffness: float) -> np.ndarray:
    """Return the forces of a wall on an arm that leans on it with 16 N, at every sample."""
    arm, rng = Arm(inertia_share=share, delay=float(delay)), np.random.default_rng(5)
    target = Reference(position=arm.start + np.array([0.09, 0.0, 0.0]))
    wall, forces = arm.start[0] + 0.01, []
    torques = [arm.update(NO_WRENCH).torque] * delay

    def wall_wrench() -> np.ndarray:
        force = -stiffness * max(0.0, arm.position()[0] - wall)
        return arm.in_tool_axes(np.array([force, 0.0, 0.0]))

    for _ in range(3000):
        wrench = wall_wrench()
        forces.append(float(np.linalg.norm(wrench)))
        measured = wrench + np.repeat([0.5, 0.02], 3) * rng.standard_normal(6)
        state = RobotState(arm.q, arm.v, wrench=measured)
        torques.append(arm.law.update(state, target, STEP).torque)
        for _ in range(8):
            arm.move(torques[-1 - delay], wall_wrench(), STEP / 8)
    return np.array(forces)


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(("delay", "stiffness"), [(0, 3e5), (1, 3e5), (2, 3e5), (2, 1e4)])
def test_an_arm_comes_to_rest_at_a_wall_however_stiff(delay: int, stiffness: float) -> None:
    forces = press(delay, 0.55, stiffness)
    # 200 N/m times 80 mm; what is left is the noise, fed back.
    assert forces[-250:].mean() == pytest.approx(16.0, rel=0.02)
    assert forces[-250:].std() < 0.5


def test_it_is_the_allowance_that_ends_the_bouncing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrench_feedback, "_ALLOWANCE", 1e9)
    monkeypatch.setattr(TwinnedController, "twin", None)  # the lines in Python
    assert press(1, 0.55, 3e5)[-250:].std() > 10.0


@pytest.mark.usefixtures("core")
def test_whatever_hosts_a_law_gives_it_the_wrench() -> None:
    arm = Arm(inertia_share=SHARE)
    hosts: dict[str, Controller | Supervisor] = {
        "law": arm.law,
        "payload": PayloadCompensation(Arm(inertia_share=SHARE).law),
        "supervisor": Supervisor(Arm(inertia_share=SHARE).law),
        "supervised payload": Supervisor(PayloadCompensation(Arm(inertia_share=SHARE).law)),
        "guard": EnergyGuard(Arm(inertia_share=SHARE).law, budget=10.0),
    }
    hosted = HostedController("vms_ph_controllers.CartesianImpedance", arm.model, True)
    hosted.set_gain("inertia_share", SHARE)
    layout, wrench = hosted.layout["inputs"], np.arange(6.0)
    torques = {}
    for name, host in hosts.items():
        host.reset(RobotState(arm.q, arm.v))
        for k in range(80):
            now = RobotState(arm.q, arm.v, wrench=NO_WRENCH if k < 79 else wrench)
            torques[name] = host.update(now, HOLD, 0.02).torque
    hosted.inputs[layout["q"]], hosted.inputs[layout["dt"]] = arm.q, 0.02
    hosted.reset()
    for k in range(80):
        hosted.inputs[layout["measured_wrench"]] = NO_WRENCH if k < 79 else wrench
        hosted.update()
    torques["hosted"] = hosted.outputs[hosted.layout["outputs"]["torque"]]
    expected = arm.d.g
    expected = expected + (1.0 / SHARE - 1.0) * arm.jacobian().T @ wrench
    for name, torque in torques.items():
        np.testing.assert_allclose(torque, expected, rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.usefixtures("core")
def test_a_push_is_by_the_force_that_was_asked_for() -> None:
    arm = Arm(PushingImpedance, inertia_share=SHARE)
    arm.measure_nothing()
    push = Reference(wrench=np.array([0.0, 0.0, -20.0, 0.0, 0.0, 0.0]))
    back = arm.in_tool_axes(np.array([0.0, 0.0, 20.0]))
    for _ in range(1200):
        state = RobotState(arm.q, arm.v, wrench=back)
        command = arm.law.update(state, push, STEP)
    torque = arm.d.g - arm.jacobian().T @ back
    np.testing.assert_allclose(command.torque, torque, rtol=0.02, atol=0.05)
