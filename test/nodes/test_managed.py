"""Simulator and controller as managed nodes, simulated time, frame prefix and namespace."""

import pytest
import yaml

from .conftest import Program, Start

pytestmark = pytest.mark.wire


def _call(start: Start, *words: str) -> dict:
    program = start("service", "call", *words)
    assert program.wait(30) == 0, program.output
    return yaml.safe_load(program.output)


def _state(start: Start, node: str) -> str:
    return str(_call(start, f"/{node}/get_state")["current_state"]["label"])


def _change(start: Start, node: str, label: str) -> bool:
    ask = f"{{transition: {{label: {label}}}}}"
    return bool(_call(start, f"/{node}/change_state", "", ask)["success"])


@pytest.fixture(scope="module")
def waiting(start: Start) -> Program:
    words = ("-p", "robot:=panda", "-p", "autostart:=false", "-p", "publish_clock:=true")
    return start("run", "closed_loop", "--ros-args", *words)


def test_nodes_without_autostart_do_nothing_until_they_are_activated(
    waiting: Program, start: Start
) -> None:
    assert _state(start, "simulator") == _state(start, "controller") == "unconfigured"
    silent = start("topic", "hz", "/joint_states", "--seconds", "3")
    assert silent.wait(30) in (0, 1)
    assert "average rate" not in silent.output
    for node in ("controller", "simulator"):
        assert _change(start, node, "configure")
        assert _change(start, node, "activate")
        assert _state(start, node) == "active"
    echo = start("topic", "echo", "--once", "/joint_states")
    assert echo.wait(30) == 0


def test_simulated_time_begins_at_zero_and_does_not_advance_while_inactive(
    waiting: Program, start: Start
) -> None:
    def clock() -> float:
        echo = start("topic", "echo", "--once", "/clock")
        assert echo.wait(30) == 0
        time = yaml.safe_load(echo.output.partition("---")[0])["clock"]
        return float(time["sec"] + 1e-9 * time["nanosec"])

    first = clock()
    assert 0.0 < first < 120.0
    assert _change(start, "simulator", "deactivate")
    silent = start("topic", "hz", "/clock", "--seconds", "2")
    silent.wait(30)
    assert "average rate" not in silent.output
    step = _call(start, "/simulator/step", "", "{steps: 5}")
    assert "not active" in step["message"]
    assert _change(start, "simulator", "activate")
    assert first < clock() < first + 60.0


def test_an_inactive_controller_commands_no_effort_and_an_active_one_holds_the_robot(
    waiting: Program, start: Start
) -> None:
    def effort() -> float:
        echo = start("topic", "echo", "--once", "/joint_states")
        assert echo.wait(30) == 0
        state = yaml.safe_load(echo.output.partition("---")[0])
        return max(abs(value) for value in state["effort"])

    assert effort() > 1.0
    assert _change(start, "controller", "deactivate")
    assert effort() == 0.0
    assert _change(start, "controller", "activate")
    assert effort() > 0.0


def test_an_unknown_transition_is_rejected(waiting: Program, start: Start) -> None:
    assert not _change(start, "simulator", "configure")
    assert waiting.interrupt() == 0
    assert "Traceback" not in waiting.output


def test_two_robots_share_one_domain_by_namespace_and_frame_prefix(start: Start) -> None:
    programs = [
        start("launch", name, f"namespace:={side}", f"prefix:={side}_", "markers:=false")
        for name, side in (("panda", "left"), ("hextilt", "right"))
    ]
    for side, frame in (("left", "left_panda_link0"), ("right", "right_odom")):
        echo = start("topic", "echo", "--once", f"/{side}/vms_ph/momentum")
        assert echo.wait(60) == 0
        message = yaml.safe_load(echo.output.partition("---")[0])
        assert message["header"]["frame_id"] == frame
        assert message["base_frame"].startswith(f"{side}_")
    odometry = start("topic", "echo", "--once", "/right/odom")
    assert odometry.wait(30) == 0
    message = yaml.safe_load(odometry.output.partition("---")[0])
    assert message["child_frame_id"] == "right_hextilt__base_link"
    tf = start("topic", "echo", "/tf")
    tf.await_output("child_frame_id: left_panda_link7")
    tf.await_output("child_frame_id: right_hextilt__base_link")
    assert [program.interrupt() for program in programs] == [0, 0]


def test_a_controller_in_its_own_process_holds_a_robot_simulated_by_another(
    start: Start,
) -> None:
    """The simulator takes the place of a driver: it publishes joint_states and odom."""
    simulator = start(
        "run", "simulator", "--ros-args", "-p", "robot:=satellite_panda",
        "-r", "simulator/torque:=torque", "-r", "__ns:=/sat",
    )  # fmt: skip
    controller = start("launch", "satellite_panda", "use_mock_hardware:=false", "namespace:=sat")
    echo = start("topic", "echo", "--once", "/sat/torque")
    assert echo.wait(60) == 0
    state = start("topic", "echo", "--once", "/sat/controller/state")
    assert state.wait(30) == 0
    assert yaml.safe_load(state.output.partition("---")[0])["closed_loop_energy"] < 1e-6
    assert controller.interrupt() == 0
    assert simulator.interrupt() == 0


def test_diagnostics_report_frequencies_the_means_of_passivity_and_stopped_inputs(
    start: Start,
) -> None:
    robot = start("launch", "panda", "markers:=false")
    watch = start("topic", "echo", "/diagnostics")
    watch.await_output(
        r"name: '?energy_monitor: vms_ph node'?\s+message: energy balanced(.|\n)*?"
        r"key: frequency \(Hz\)\s+value: '?(9\d|10\d)\."
    )
    watch.await_output("by the law, without an energy tank")
    assert start("param", "set", "/controller", "tank_capacity", "5.0").wait(30) == 0
    watch.await_output("ensured by the energy tank")
    assert _change(start, "simulator", "deactivate")
    watch.await_output(r"level: 1\s+name: '?energy_monitor: vms_ph node'?\s+message: no joint sta")
    assert _change(start, "simulator", "activate")
    assert robot.interrupt() == 0
