# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A payload under nodes: taken and set down on request, its energy, and what the law is told."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import Inertia, InertiaStamped, Vector3
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import SetBool
from vms_ph.msg import PayloadState

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.capture import Body
from vms_ph_dynamics.simulation import Mechanism, Payload, Sample
from vms_ph_io import robots
from vms_ph_io.tasks.task_goals import PayloadJudge
from vms_ph_nodes import closed_loop
from vms_ph_nodes.controller import ControllerNode
from vms_ph_nodes.node.health import refused_messages
from vms_ph_nodes.simulation.engine import payload_parameters
from vms_ph_nodes.simulation.scene_publishers import (
    mechanism_angle,
    mechanism_pose,
    mechanism_shapes,
    payload_shapes,
)
from vms_ph_nodes.task_runner import PayloadScore

# Its handle is in the hand at the start.
BODY = Payload(2.0, np.array([0.004, 0.003, 0.002]), np.inf, centre=np.array([0.02, 0.0, -0.05]))


@contextmanager
def loop(*parameters: str, payload: Payload = BODY) -> Iterator[tuple[Any, Any]]:
    """Run simulator and controller of a Panda with a payload in this process."""
    given = {**payload_parameters(payload), "robot": "panda", "step": 0.002}
    words = [f"{name}:={str(value).lower()}" for name, value in given.items()] + list(parameters)
    pairs = [part for word in words for part in ("-p", word)]
    rclpy.init(args=["--ros-args", *pairs], domain_id=62)
    try:
        nodes = closed_loop.make()
        nodes[0]._restart()  # the law was not active before
        yield nodes[0], nodes[1]
        for node in nodes:
            node.destroy_node()
    finally:
        rclpy.shutdown()


def hold(simulator: Any, wanted: bool) -> SetBool.Response:
    return simulator._on_hold(SetBool.Request(data=wanted), SetBool.Response())


def energy(simulator: Any, now: Sample) -> float:
    d = simulator.model.evaluate(now.q, now.v)
    return float(d.kinetic_energy + d.potential_energy)


def unaccounted(simulator: Any, start: float) -> float:
    now = simulator._sample()
    supplied = sum(now.port_energy.values())
    return energy(simulator, now) - start - supplied + float(now.dissipated)


def test_a_payload_is_a_wrench_on_the_robot_whose_work_closes_the_energy_balance() -> None:
    with loop() as (simulator, controller):
        start, empty = energy(simulator, simulator._sample()), controller.controller.model
        assert not hold(simulator, False).success
        assert hold(simulator, True).success
        assert controller.controller.model.total_mass == pytest.approx(empty.total_mass + 2.0)
        # The law is told a lighter body, so that the arm moves.
        controller.set_carried_body(
            Body(1.0, [0.0, 0.0, 0.0], 1e-3 * np.eye(3)), simulator._sample()
        )
        work, powers = [], []
        for _ in range(101):
            simulator._advance(1)
            now = simulator._sample()
            d = simulator.model.evaluate(now.q, now.v)
            work.append(now.port_energy["wrench_end_effector"])
            powers.append(float(now.wrench_end_effector @ d.J_end_effector @ now.v))
        # By the trapezoidal rule over steps of 2 ms, of the second order.
        integral = 0.002 * (np.sum(powers) - 0.5 * (powers[0] + powers[-1]))
        assert abs(work[-1] - work[0]) > 1e-3
        assert integral == pytest.approx(work[-1] - work[0], rel=1e-3)
        # Rounding of energies of some J.
        assert abs(unaccounted(simulator, start)) < 1e-12
        assert hold(simulator, False).success
        simulator._advance(50)
        assert abs(unaccounted(simulator, start)) < 1e-12
        lost = simulator._grasp_topics.payload_use.losses
        assert lost["setting_down"] > 0.0
        refused = hold(simulator, True)
        assert not refused.success
        assert "~/reset puts it where it was" in refused.message


def test_a_reset_puts_the_payload_back_and_tells_the_law() -> None:
    with loop() as (simulator, controller):
        begun, home = controller.controller.model.total_mass, simulator._sample()
        hold(simulator, True)
        simulator._advance(20)
        resets = simulator.simulation.resets
        simulator._restart()
        now = simulator._sample()
        assert simulator.simulation.resets == resets + 1
        assert controller.controller.model.total_mass == begun
        np.testing.assert_array_equal(now.q, home.q)
        np.testing.assert_allclose(now.torque, home.torque, atol=1e-12)
        assert not np.any(now.wrench_end_effector)
        assert now.port_energy["wrench_end_effector"] == 0.0
        assert hold(simulator, True).success


def test_a_payload_out_of_reach_is_not_taken() -> None:
    far = Payload(1.0, np.full(3, 1e-3), np.inf, place=np.array([0.0, 0.0, 0.03]))
    with loop(payload=far) as (simulator, _):
        answer = hold(simulator, True)
        assert not answer.success
        assert "is 30 mm from the end effector, within reach are 10 mm" in answer.message
        assert hold(simulator, False).message == "the end effector has no payload"


def inertia(mass: float, frame: str = "", **moments: float) -> InertiaStamped:
    return InertiaStamped(
        header=Header(frame_id=frame),
        inertia=Inertia(m=mass, com=Vector3(z=0.1), **moments),
    )


CUBE = {"ixx": 0.01, "iyy": 0.01, "izz": 0.01}


def test_what_is_no_inertia_at_the_end_effector_is_refused() -> None:
    refused = [
        (inertia(np.nan, **CUBE), "an inertia must be finite"),
        (inertia(1e12, **CUBE), "an inertia must be finite and at most 1e.09"),
        (inertia(-1.0, **CUBE), "a body has a positive mass"),
        (inertia(1.0, ixx=0.01, iyy=0.01, izz=0.1), "none larger than the sum of the others"),
        (inertia(0.0, **CUBE), "one of zeros stands for none"),
        (inertia(1.0, "panda_link3", **CUBE), "an inertia must have the frame panda_link8"),
    ]
    with loop() as (_, controller):
        law = controller.controller
        for count, (message, said) in enumerate(refused, start=1):
            controller._on_inertia(message)
            assert controller.controller is law
            assert refused_messages(controller)[0] == count
            assert re.search(said, refused_messages(controller)[1])


def test_a_controller_on_its_own_goes_on_with_gains_and_references_for_what_it_is_told() -> None:
    words = ["--ros-args", "-p", "robot:=panda", "-p", "controller:=TaskSpaceIDAPBC"]
    rclpy.init(args=words, domain_id=62)
    try:
        node = ControllerNode()
        begun, place = node.controller.model.total_mass, np.array([0.4, 0.0, 0.5])
        node.set_parameters([Parameter("damping_task", value=77.0)])
        node._reference_topics._pending["position"] = place
        assert node._reference_topics.take(node._model.neutral_configuration()).position is place
        node._on_inertia(inertia(3.0, "panda_link8", **CUBE))
        told = node.controller
        assert told.model.total_mass == pytest.approx(begun + 3.0)
        assert told.gains.damping_task == 77.0
        assert node._reference_topics.take(node._model.neutral_configuration()).position is place
        node._on_inertia(inertia(3.0, **CUBE))
        assert node.controller is told  # the same again
        node.set_parameters([Parameter("damping_task", value=55.0)])
        assert told.gains.damping_task == 55.0
        node._on_inertia(InertiaStamped())
        assert node.controller.model.total_mass == begun
        node.destroy_node()
    finally:
        rclpy.shutdown()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("mechanism.inertia:=1.0", "takes a payload or holds a mechanism"),
        ("payload.moments:=[1.0, 1.0, 9.0]", "none larger than the sum of the others"),
        ("payload.place:=[1.0]", r"place of a payload must have shape \(3,\)"),
        (
            "payload.spin:=[1.0, 0.0, 0.0]",
            "a payload that moves needs capture_time",
        ),
        ("robot:=bluerov2_alpha5", "is in water"),
        ("robot:=prismatic_hopper", "robots without a floor"),
    ],
)
def test_a_payload_that_cannot_be_simulated_is_refused(changed: str, said: str) -> None:
    hinge = ("mechanism.hinge:=[0.0, 0.8, 0.0]",)
    with pytest.raises(VmsPhError, match=said), loop(changed, *hinge):
        pass


def test_what_is_drawn_of_a_mechanism_is_where_its_handle_is() -> None:
    door = Mechanism(np.array([0.0, 0.8, 0.1]), np.array([0.0, 0.0, -2.0]), 4.0)
    handle, angle = np.array([0.5, 0.2, 1.0]), 0.7
    pose = mechanism_pose(door, handle, angle)
    np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-15)
    assert np.linalg.det(pose) == pytest.approx(1.0)
    ball = mechanism_shapes(door)[-1]
    place = (pose @ ball.pose)[:3, 3]
    np.testing.assert_allclose(place, handle + door.displacement(angle), atol=1e-15)


def test_the_box_that_is_drawn_of_a_payload_has_its_moments() -> None:
    (box,) = payload_shapes(BODY)
    a, b, c = np.square(box.size) * BODY.mass / 12.0
    np.testing.assert_allclose([b + c, c + a, a + b], BODY.moments, rtol=1e-12)
    np.testing.assert_array_equal(box.pose[:3, 3], BODY.centre)


def test_what_is_published_of_payload_and_mechanism_counts_only_with_finite_numbers() -> None:
    assert mechanism_angle(JointState(name=["mechanism"], position=[0.3])) == 0.3
    for garbage in (
        JointState(),
        JointState(name=["mechanism"], position=[np.nan]),
        JointState(name=["mechanism"], position=[0.1, 0.2]),
        JointState(name=["elbow"], position=[0.1]),
    ):
        assert mechanism_angle(garbage) is None
    model = robots.load("panda")
    score = PayloadScore(PayloadJudge(BODY, model, model.neutral_configuration()))
    score.update(PayloadState(tried=True, distance=np.nan))
    score.update(None)
    assert score.goals()["taken"]["obtained"] is None
    score.update(PayloadState(tried=True, distance=0.004))
    assert score.goals()["taken"]["obtained"] == 0.004
