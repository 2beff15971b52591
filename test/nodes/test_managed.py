# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulator and controller as managed nodes, simulated time, frame prefix and namespace."""

from collections.abc import Callable

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from vms_ph.msg import ControllerState, Momentum
from vms_ph.srv import StepSimulation

from .conftest import Program, Start, echo_of
from .observer import Observer

pytestmark = pytest.mark.wire


def _state(observer: Observer, node: str) -> str:
    answer = observer.call(GetState, f"/{node}/get_state", GetState.Request())
    return str(answer.current_state.label)


def _change(observer: Observer, node: str, label: str) -> bool:
    request = ChangeState.Request()
    request.transition.label = label
    return bool(observer.call(ChangeState, f"/{node}/change_state", request).success)


@pytest.fixture(scope="module")
def waiting(start: Start) -> Program:
    words = ("-p", "robot:=panda", "-p", "autostart:=false", "-p", "publish_clock:=true")
    return start("run", "closed_loop", "--ros-args", *words)


def test_nodes_without_autostart_do_nothing_until_they_are_activated(
    waiting: Program, observer: Observer
) -> None:
    assert _state(observer, "simulator") == _state(observer, "controller") == "unconfigured"
    assert observer.count(JointState, "/joint_states", 1.5) == 0
    for node in ("controller", "simulator"):
        assert _change(observer, node, "configure")
        assert _change(observer, node, "activate")
        assert _state(observer, node) == "active"
    assert observer.take(JointState, "/joint_states")


def test_simulated_time_begins_at_zero_and_does_not_advance_while_inactive(
    waiting: Program, observer: Observer
) -> None:
    def clock() -> float:
        time = observer.take(Clock, "/clock").clock
        return float(time.sec + 1e-9 * time.nanosec)

    first = clock()
    assert 0.0 < first < 120.0
    assert _change(observer, "simulator", "deactivate")
    assert observer.count(Clock, "/clock", 1.0) == 0
    step = observer.call(StepSimulation, "/simulator/step", StepSimulation.Request(steps=5))
    assert "not active" in step.message
    assert _change(observer, "simulator", "activate")
    assert first < clock() < first + 60.0


def test_an_inactive_controller_commands_no_effort_and_an_active_one_holds_the_robot(
    waiting: Program, observer: Observer
) -> None:
    def effort(fits: Callable[[float], bool]) -> float:
        """Return the largest effort of the first state whose effort fits."""

        def largest(state: JointState) -> float:
            return max(abs(value) for value in state.effort)

        state = observer.take(JointState, "/joint_states", lambda m: fits(largest(m)), 5.0)
        return largest(state)

    assert effort(lambda most: True) > 1.0
    assert _change(observer, "controller", "deactivate")
    assert effort(lambda most: most <= 1.0) == 0.0
    assert effort(lambda most: True) == 0.0
    assert _change(observer, "controller", "activate")
    assert effort(lambda most: most > 0.0)


def test_an_unknown_transition_is_rejected(waiting: Program, observer: Observer) -> None:
    assert not _change(observer, "simulator", "configure")
    assert waiting.interrupt() == 0
    assert "Traceback" not in waiting.output


def test_two_robots_share_one_domain_by_namespace_and_frame_prefix(
    start: Start, observer: Observer
) -> None:
    programs = [
        start(
            *("launch", name, f"namespace:={side}", f"prefix:={side}_"),
            *("markers:=false", "rate:=50.0"),
        )
        for name, side in (("panda", "left"), ("hextilt", "right"))
    ]
    for side, frame in (("left", "left_panda_link0"), ("right", "right_odom")):
        momentum = observer.take(Momentum, f"/{side}/vms_ph/momentum", seconds=60.0)
        assert momentum.header.frame_id == frame
        assert momentum.base_frame.startswith(f"{side}_")
    base = "right_hextilt__base_link"
    assert observer.take(Odometry, "/right/odom").child_frame_id == base
    for link in ("left_panda_link7", base):
        observer.take(
            TFMessage,
            "/tf",
            lambda m, link=link: any(t.child_frame_id == link for t in m.transforms),
        )
    assert [program.interrupt() for program in programs] == [0, 0]


def test_a_controller_in_its_own_process_holds_a_robot_simulated_by_another(
    start: Start, observer: Observer
) -> None:
    """The simulator takes the place of a driver: it publishes joint_states and odom."""
    simulator = start(
        "run", "simulator", "--ros-args", "-p", "robot:=satellite_panda",
        "-r", "simulator/torque:=torque", "-r", "__ns:=/sat",
    )  # fmt: skip
    controller = start("launch", "satellite_panda", "use_mock_hardware:=false", "namespace:=sat")
    assert observer.take(JointState, "/sat/torque", seconds=60.0)
    assert observer.take(ControllerState, "/sat/controller/state").closed_loop_energy < 1e-6
    assert controller.interrupt() == 0
    assert simulator.interrupt() == 0


def _reported_frequency(observer: Observer, node: str) -> float:
    """Return the rate that a node reports for its input, Hz: over two seconds."""
    name = f"{node}: vms_ph node"
    message = observer.take(
        DiagnosticArray, "/diagnostics", lambda m: any(s.name == name for s in m.status)
    )
    (status,) = (s for s in message.status if s.name == name)
    return float({v.key: v.value for v in status.values}["frequency (Hz)"])


def test_diagnostics_report_frequencies_the_means_of_passivity_and_stopped_inputs(
    start: Start, observer: Observer
) -> None:
    robot = start("launch", "panda", "markers:=false", "rate:=25")
    watch = echo_of(start, "/diagnostics")
    watch.await_output(r"name: '?energy_monitor: vms_ph node'?\s+message: energy balanced")
    received = observer.rate(JointState, "/joint_states", 50)
    assert 0.5 < _reported_frequency(observer, "energy_monitor") / received < 2.0
    watch.await_output("by the law, without an energy tank")
    assert start("param", "set", "/controller", "tank_capacity", "5.0").wait(30) == 0
    watch.await_output("ensured by the energy tank")
    assert _change(observer, "simulator", "deactivate")
    watch.await_output(r"level: 1\s+name: '?energy_monitor: vms_ph node'?\s+message: no joint sta")
    assert _change(observer, "simulator", "activate")
    assert robot.interrupt() == 0
