# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The live view of the demo in a terminal."""

import io
import re
from collections.abc import Iterator

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rich.console import Console
from std_msgs.msg import Header
from vms_ph.msg import ControllerState, Energy, Power

from vms_ph_nodes.node.health import TOPIC
from vms_ph_nodes.views.live_view import LiveView

NODES = (
    "simulator",
    "controller",
    "energy_monitor",
    "marker_publisher",
    "model_server",
    "bag_recorder",
    "web_viewer",
)


@pytest.fixture
def view() -> Iterator[LiveView]:
    rclpy.init(args=[], domain_id=77)
    made = LiveView()
    yield made
    made.destroy_node()
    rclpy.shutdown()


def test_the_whole_demo_fits_a_terminal_of_80_by_24(view: LiveView) -> None:
    calls = {s.topic_name: s.callback for s in view.subscriptions}
    calls["/vms_ph/energy"](Energy(total=97.5))
    calls["/vms_ph/power"](Power(torque=-1.25))
    calls["/controller/state"](ControllerState(task_error=0.0015))
    says = [DiagnosticStatus(name=f"{name}: vms_ph node", message="100.0 Hz") for name in NODES]
    calls[TOPIC](DiagnosticArray(status=says))
    console = Console(width=80, height=24, record=True, file=io.StringIO())
    console.print(view.render())
    lines = console.export_text().splitlines()
    assert len(lines) < 24
    assert any("+97.50000" in line and "-1.25000" in line for line in lines)
    assert all(any(name in line for line in lines) for name in NODES)
    for port in ("torque", "wrench_base", "wrench_end_effector"):
        assert any(port in line for line in lines)
    assert any("task error" in line and "1.50 mm" in line for line in lines)


def test_tool_ports_are_listed_below_the_default_ports(view: LiveView) -> None:
    calls = {s.topic_name: s.callback for s in view.subscriptions}
    calls["/vms_ph/power"](Power(tool_names=["left_hand"], tool_power=[2.5], tool_energy=[0.0]))
    console = Console(width=80, height=24, record=True, file=io.StringIO())
    console.print(view.render())
    lines = console.export_text().splitlines()
    assert any("left_hand" in line and "+2.50000" in line for line in lines)


@pytest.mark.parametrize(
    ("frame", "given", "shown", "hidden"),
    [
        ("left/odom", {"kinetic_base": 2.0, "kinetic_shape": 0.5}, "base", "null space to task"),
        ("panda_link0", {"kinetic_task": 2.0, "kinetic_null": 0.5}, "null space", "shape  "),
    ],
)
def test_energies_are_split_as_the_law_splits_them_and_add_up(
    frame: str, given: dict[str, float], shown: str, hidden: str, view: LiveView
) -> None:
    calls = {s.topic_name: s.callback for s in view.subscriptions}
    parts = {"kinetic_task": 1.5, "kinetic_null": 1.25, "kinetic_base": 1.5, "kinetic_shape": 1.25}
    energy = Energy(
        header=Header(frame_id=frame), total=97.75, kinetic=2.75, potential=95.0, **parts
    )
    calls["/vms_ph/energy"](energy)
    calls["/vms_ph/power"](Power())
    calls["/controller/state"](
        ControllerState(closed_loop_energy=3.25, shaped_potential=0.75, damping_base=4.0, **given)
    )
    console = Console(width=80, height=24, record=True, file=io.StringIO())
    console.print(view.render())
    text = console.export_text()
    numbers = [float(x) for x in re.findall(r"^.*?([+-]\d+\.\d{5})", text, re.M)]
    total, potential, a, b, closed, shaped, c, d = numbers
    assert total == pytest.approx(potential + a + b, abs=1e-4)
    assert closed == pytest.approx(shaped + c + d, abs=1e-4)
    assert f"kinetic, {shown}" in text
    assert hidden not in text
    assert re.search(r"injected damping +-4.00000", text)


def test_a_law_without_a_split_shows_its_kinetic_energy_whole(view: LiveView) -> None:
    calls = {s.topic_name: s.callback for s in view.subscriptions}
    calls["/controller/state"](ControllerState(closed_loop_energy=3.25, shaped_potential=0.75))
    console = Console(width=80, height=24, record=True, file=io.StringIO())
    console.print(view.render())
    assert re.search(r"  kinetic +\+2.50000", console.export_text())
