# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes declare the parameters of their files, on the installed runtime."""

import ast
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from vms_ph_controllers.observers import NoiseModel
from vms_ph_controllers.safety.plausibility import PlausibilityBounds
from vms_ph_dynamics.simulation import Mechanism, Payload
from vms_ph_io import share_directory
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.settings.yaml_files import key_of
from vms_ph_nodes.node.parameters import parameters_of

from .conftest import Start

ROOT = Path(__file__).parents[2]


def _declared(path: Path) -> set[str]:
    """Return the names in calls of declare() in a module."""
    return {
        call.args[1].value
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "declare"
        and isinstance(call.args[1], ast.Constant)
    }


# The modules that declare the parameters of each node.
PARTS = {
    "simulator": (
        "simulator",
        "simulation/engine",
        "simulation/external_efforts",
        "simulation/robot_publishers",
        "node/process",
    ),
    "controller": ("controller", "node/process"),
    "energy_guard": ("energy_guard", "topics/guard_node"),
    "servo_guard": ("servo_guard", "topics/guard_node"),
    "energy_monitor": ("energy_monitor", "topics/robot_motion"),
    "force_observer": ("force_observer", "topics/robot_motion"),
    "marker_publisher": ("marker_publisher", "topics/robot_motion"),
    "reference_marker": ("reference_marker", "topics/robot_motion"),
    "web_viewer": ("web_viewer",),
    "joint_heat": ("../vms_ph_ephs/nodes/joint_heat",),
    "task_runner": ("task_runner",),
    "robot": (),
    "bag_recorder": ("bag_recorder",),
    "bag_player": ("bag_player",),
}


def test_every_file_belongs_to_a_node() -> None:
    files = {path.stem for path in (share_directory() / "config/parameters").glob("*.yaml")}
    assert files == PARTS.keys()


@pytest.mark.parametrize("node", PARTS)
def test_a_node_declares_the_parameters_of_its_file(node: str) -> None:
    declared: set[str] = set()
    for part in PARTS[node]:
        # One of the file of the robot is declared where it is used.
        declared |= _declared(ROOT / f"vms_ph_nodes/{part}.py") - {"state_spread"}
    there = set(parameters_of(node))
    if node == "robot":  # declared in a loop over the settings
        declared = {*RobotSettings.names(), "state_spread", "launch_arguments"}
    if node == "force_observer":  # likewise the kinds of noise
        names = [item.name for item in fields(NoiseModel)]
        declared |= {n if n.endswith("_error") else f"{n}_noise" for n in names}
    # Scales, bounds of plausibility, wind, pushes, what a robot holds, how it hops: in loops.
    in_loops = ("scale.", "plausibility.", "payload.", "mechanism.", "hop.", "wind.", "push.")
    assert declared == {name for name in there if not name.startswith(in_loops)}


@pytest.mark.parametrize(
    ("kind", "judged", "of"),
    [(Payload, {"to", "within"}, "payload"), (Mechanism, set(), "mechanism")],
)
def test_what_a_robot_takes_or_holds_has_its_fields_as_parameters(
    kind: type, judged: set[str], of: str
) -> None:
    specs = {k.partition(".")[2]: v for k, v in parameters_of("simulator").items() if f"{of}." in k}
    assert specs.keys() == {key_of(item) for item in fields(kind)} - judged
    for item in [item for item in fields(kind) if key_of(item) in specs]:
        if isinstance(item.default, float | bool):
            assert specs[key_of(item)].default == item.default


@pytest.mark.parametrize(
    "path", ["config/parameters/controller.yaml", "ros2_control/parameters/controller_shell.yaml"]
)
def test_the_bounds_of_plausibility_are_parameters_of_nodes_and_plugins(path: str) -> None:
    (whole,) = yaml.safe_load((ROOT / path).read_text()).values()
    specs = whole["plausibility"]
    assert list(specs) == [item.name for item in fields(PlausibilityBounds)]
    for item in fields(PlausibilityBounds):
        spec = specs[item.name]
        assert spec["default_value"] == item.default
        assert spec["description"] == item.metadata["description"]
        assert spec["validation"]["bounds<>"] == [item.metadata["low"], item.metadata["high"]]


@pytest.mark.wire
def test_other_processes_read_and_change_parameters(start: Start) -> None:
    start("run", "energy_monitor", "--ros-args", "-p", "robot:=panda")
    listed = start("param", "list", "/energy_monitor")
    assert listed.wait(20) == 0
    assert "unaccounted_tolerance: unaccounted energy" in listed.output
    assert "joint_friction (read-only)" in listed.output
    changed = start("param", "set", "/energy_monitor", "unaccounted_tolerance", "0.5")
    assert changed.wait(20) == 0
    refused = start("param", "set", "/energy_monitor", "unaccounted_tolerance", "-1.0")
    assert refused.wait(20) == 1
    assert "rejected unaccounted_tolerance = -1.0" in refused.output
    fixed = start("param", "set", "/energy_monitor", "base", "planar")
    assert fixed.wait(20) == 1


@pytest.mark.wire
@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        (
            "base:=sideways",
            "base must be one of , auto, fixed, planar, floating; given: 'sideways'",
        ),
        ("scheme:=euler", "scheme must be one of auto, projected_rk4"),
    ],
)
def test_an_invalid_value_ends_the_node_with_one_sentence(
    start: Start, parameter: str, said: str
) -> None:
    program = start("run", "simulator", "--ros-args", "-p", parameter)
    assert program.wait(20) == 1
    assert said in program.output
    assert "Traceback" not in program.output


@pytest.mark.wire
@pytest.mark.parametrize("value", ["-1.0", "much"])
def test_an_invalid_initial_value_is_reported_in_one_sentence(start: Start, value: str) -> None:
    words = ("--ros-args", "-p", "robot:=panda", "-p", f"unaccounted_tolerance:={value}")
    program = start("run", "energy_monitor", *words)
    assert program.wait(30) == 1
    assert program.output.startswith("error: ")
    assert "unaccounted_tolerance" in program.output
    assert "Traceback" not in program.output
