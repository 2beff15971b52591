# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the page commands reaches simulator and controller, and refusals come back in words."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from tf2_msgs.msg import TFMessage
from vms_ph.msg import ControllerState

from vms_ph_io.bag import bag_info
from vms_ph_nodes.closed_loop import make
from vms_ph_nodes.controller import ControllerNode
from vms_ph_nodes.node.health import PAUSED
from vms_ph_nodes.simulator import Simulator
from vms_ph_nodes.views.commands import Commands, PullEfforts, Recording, Request, wrench_topic

pytestmark = pytest.mark.wire


class Bench:
    """A simulated Panda with its controller, and a node with commands."""

    simulator: Simulator
    controller: ControllerNode

    def __init__(self) -> None:
        arguments = ["-p", "robot:=panda", "-p", "controller:=TaskSpaceIDAPBC"]
        rclpy.init(args=["--ros-args", *arguments], domain_id=81)
        self.simulator, self.controller = make()
        self.page = Node("page")
        self.commands = Commands(self.page)
        self.page.create_timer(1.0 / 30.0, self.commands.send_pending)
        self.executor = SingleThreadedExecutor()
        for node in (self.simulator, self.controller, self.page):
            self.executor.add_node(node)

    def until(self, reached: Callable[[], bool], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < end, "not reached"
            self.executor.spin_once(0.02)

    def call(self, name: str, **fields: object) -> str:
        return self._send(self.commands.call(name, **fields))

    def set(self, node: str, name: str, value: float) -> str:
        return self._send(self.commands.set(node, name, value))

    def _send(self, request: Request) -> str:
        """Send a request from another thread, as a page does, and return the reply."""
        replies: list[str] = []
        threading.Thread(target=request.send, args=(replies.append,)).start()
        self.until(lambda: bool(replies))
        return replies[0]

    def close(self) -> None:
        self.executor.shutdown()
        for node in (self.page, self.controller, self.simulator):
            node.destroy_node()
        rclpy.shutdown()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    made.until(made.commands._clients["simulator/pause"].service_is_ready)
    made.until(made.commands._parameter_clients["controller"].services_are_ready)
    yield made
    made.close()


def test_paused_time_advances_by_steps_and_returns_to_the_start(bench: Bench) -> None:
    simulation = bench.simulator.simulation
    assert bench.call("simulator/pause", data=True) == ""
    before = simulation.steps
    assert bench.call("simulator/step", steps=25) == ""
    assert simulation.steps == before + 25
    assert bench.call("simulator/reset") == ""
    assert simulation.steps == 0
    assert bench.call("simulator/pause", data=False) == ""
    bench.until(lambda: simulation.steps > 0)
    # A refusal is a sentence.
    assert "pause" in bench.call("simulator/step", steps=25)


def test_those_who_join_while_time_stands_are_told_the_poses(bench: Bench) -> None:
    told: list[TFMessage] = []
    assert bench.call("simulator/pause", data=True) == ""
    assert bench.simulator._health._own_report[1] == PAUSED
    subscription = bench.page.create_subscription(TFMessage, "/tf", told.append, 10)
    bench.until(lambda: bench.simulator.count_subscribers("/tf") > 0)
    before = bench.simulator.simulation.steps
    assert bench.call("simulator/step", steps=0) == ""
    bench.until(lambda: bool(told))
    assert len(told[0].transforms) >= 7
    assert bench.simulator.simulation.steps == before
    bench.page.destroy_subscription(subscription)
    assert bench.call("simulator/pause", data=False) == ""


def test_a_push_supplies_energy_for_its_time_and_no_longer(bench: Bench) -> None:
    def supplied() -> float:
        return float(bench.simulator.simulation.sample().port_energy["wrench_end_effector"])

    before = supplied()
    bench.commands.push("", (20.0, 0.0, 0.0), 0.2)
    bench.until(lambda: supplied() > before + 1e-3)
    bench.until(lambda: not bench.commands._pushes)
    bench.until(lambda: not bench.simulator.simulation.sample().wrench_end_effector.any(), 0.24)


def test_a_push_on_a_tool_acts_in_world_axes_whatever_its_name(bench: Bench) -> None:
    received: list[WrenchStamped] = []
    topic = wrench_topic("gripper_base")
    subscription = bench.page.create_subscription(WrenchStamped, topic, received.append, 10)
    bench.commands.push("gripper_base", (1.0, 0.0, 0.0), 1.0)
    bench.until(lambda: bool(received))
    assert received[0].header.frame_id == "world"
    bench.until(lambda: not bench.commands._pushes)
    bench.page.destroy_subscription(subscription)


def test_a_pull_acts_while_it_is_held_and_ends_at_once(bench: Bench) -> None:
    simulation = bench.simulator.simulation

    def pulled() -> float:
        acting = bench.simulator._efforts.efforts(simulation.time)
        return float(acting.torque[0])

    bench.commands.pull(lambda: PullEfforts({"panda_joint1": 3.0}, None))
    bench.until(lambda: pulled() == 3.0)
    bench.commands.pull(None)
    bench.until(lambda: pulled() == 0.0, 0.24)


def test_slow_motion_is_a_parameter_and_time_goes_on_without_a_jump(bench: Bench) -> None:
    simulation = bench.simulator.simulation
    before = simulation.time
    assert bench.set("simulator", "real_time_factor", 0.05) == ""
    begin, start = time.monotonic(), simulation.time
    assert start - before < 0.5
    bench.until(lambda: time.monotonic() > begin + 0.5)
    assert 0.0 < simulation.time - start < 0.1
    assert "real_time_factor" in bench.set("simulator", "real_time_factor", 1e6)
    assert bench.set("simulator", "real_time_factor", 1.0) == ""
    bench.until(lambda: simulation.time > start + 0.3)


def test_a_recording_is_a_bag_of_its_own(tmp_path: Path, bench: Bench) -> None:
    recording = Recording(tmp_path / "runs")
    assert recording.end() is None
    assert recording.start().startswith("vms-ph bag record -o ")
    assert recording.start().startswith("vms-ph bag record -o ")  # no second one
    bench.until(lambda: any((tmp_path / "runs").glob("*/*.mcap")))
    bag = recording.end()
    assert bag is not None
    assert bag_info(bag).is_complete


def test_gains_have_the_bounds_and_words_of_their_parameters(bench: Bench) -> None:
    found: list[dict[str, tuple[ParameterDescriptor, float]]] = []
    assert bench.commands.ask_gains(found.append)
    bench.until(lambda: bool(found))
    descriptor, stiffness = found[0]["stiffness"]
    (bounds,) = descriptor.floating_point_range
    assert bounds.from_value < stiffness < bounds.to_value
    assert "N m/rad" in descriptor.description
    assert "robot" not in found[0]  # no number
    assert bench.set("controller", "stiffness", stiffness + 1.0) == ""
    now = bench.controller.get_parameter("stiffness").value
    assert now == stiffness + 1.0
    assert bench.set("controller", "stiffness", -1.0)
    assert bench.controller.get_parameter("stiffness").value == now


def test_a_reference_moves_the_end_effector(bench: Bench) -> None:
    model, simulation = bench.simulator.model, bench.simulator.simulation

    def height() -> float:
        now = simulation.sample()
        return float(model.evaluate(now.q, now.v).placement(model.end_effector)[2, 3])

    now = simulation.sample()
    pose = model.evaluate(now.q, now.v).placement(model.end_effector)
    lower = pose[:3, 3] - [0.0, 0.0, 0.05]
    begun = height()
    bench.commands.set_reference_pose(lower, (0.0, 1.0, 0.0, 0.0), "panda_link0")
    bench.until(lambda: height() < begun - 0.03)


def test_a_law_that_is_restarted_holds_the_present_pose_with_its_tank_refilled(
    bench: Bench,
) -> None:
    # Lowering the reference takes from a tank, which begins at a joule.
    for name, value in (("tank_capacity", 2.0), ("tank_initial", 1.0)):
        assert bench.set("controller", name, value) == ""
    states: list[ControllerState] = []
    bench.page.create_subscription(ControllerState, "controller/state", states.append, 10)
    bench.until(lambda: bool(states) and states[-1].tank_level > 0.0)
    now = bench.simulator.simulation.sample()
    model = bench.simulator.model
    pose = model.evaluate(now.q, now.v).placement(model.end_effector)
    bench.commands.set_reference_pose(
        pose[:3, 3] + [0.0, 0.0, 0.1], (0.0, 1.0, 0.0, 0.0), "panda_link0"
    )
    bench.until(lambda: states[-1].tank_level < 0.9)
    assert bench.call("controller/restart") == ""
    bench.until(lambda: states[-1].tank_level > 0.99)
    assert states[-1].task_error < 0.01


def test_every_port_has_its_topic() -> None:
    assert wrench_topic("") == "simulator/wrench_end_effector"
    assert wrench_topic("base") == "simulator/wrench_base"
    assert wrench_topic("left_hand") == "simulator/wrench/left_hand"
