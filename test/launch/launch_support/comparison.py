# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What this launcher makes of a recorded case, in the words of the recording."""

import json
from pathlib import Path
from typing import Any

import yaml
from jazzy.launch_cases import Case

from vms_ph_embedded.launch import LaunchError, load, show_arguments
from vms_ph_embedded.launch.description import LogLine, ProcessDescription, YamlFile

JAZZY = Path(__file__).parents[1] / "jazzy"
PARAMETER_TYPES = {bool: "BOOL", int: "INTEGER", float: "DOUBLE", str: "STRING"}


def resolve(package: str, executable: str) -> list[str]:
    if package == "vms_ph" and executable in ("simulator", "controller"):
        return [f"<bin>/{executable}"]
    raise LookupError(f"no {package}/{executable}")


def find_share(package: str) -> Path:
    raise LookupError(f"no package {package}")


def ours(case: Case, folder: Path) -> list[dict[str, Any]] | None:
    file = folder / "case.launch.xml"
    file.write_text(case.xml)
    try:
        description = load(file, case.arguments, resolve=resolve, find_share=find_share)
    except LaunchError:
        return None
    return [as_recorded(step, folder) for step in description.steps]


def as_recorded(step: LogLine | ProcessDescription, folder: Path) -> dict[str, Any]:
    if isinstance(step, LogLine):
        return {"log": relative(step.message, folder)}
    recorded: dict[str, Any] = {
        "name": step.name,
        "command": without_files([str(word) for word in step.command]),
        "environment": {
            k: v for k, v in step.environment.items() if k.startswith("T_") and k != "T_HERE"
        },
        "output": step.output,
        "respawn": step.respawn,
        "respawn_delay": step.respawn_delay,
        "respawn_max_retries": step.respawn_max_retries,
        "shutdown_on_exit": step.shutdown_on_exit,
        "timeouts": [step.sigterm_timeout, step.sigkill_timeout],
    }
    if "--ros-args" in step.command:
        recorded["parameters"] = parameters(step)
    return recorded


def as_read(recorded: dict[str, Any]) -> dict[str, Any]:
    """A recorded step, reduced to what can be compared without a ROS 2 node."""
    step = {k: v for k, v in recorded.items() if k not in ("node", "directory", "shell")}
    if "command" in step:
        step["command"] = without_files(step["command"])
    if "node" in recorded:
        node = recorded["node"]
        step["parameters"] = None if node is None else node["parameters"]
    return step


def without_files(command: list[str]) -> list[str]:
    """The command without its parameter files: one each there, as few as possible here."""
    kept: list[str] = []
    for index, word in enumerate(command):
        if word != "--params-file" and command[index - 1] != "--params-file":
            kept.append(word)
    return kept


def relative(text: str, folder: Path) -> str:
    return text.replace(str(folder), "<folder>").replace(str(JAZZY / "files"), "<here>")


def parameters(step: ProcessDescription) -> dict[str, list[Any]]:
    """The parameters as the node reads them: from the command, then from its files, in order."""
    merged: dict[str, Any] = {}
    assert step.node is not None
    name = f"{(step.node.namespace or '').rstrip('/')}/{step.node.name}"
    for previous, word in zip(step.command, step.command[1:], strict=False):
        if previous == "-p":
            parameter, _, value = str(word).partition(":=")
            merged[parameter] = yaml.safe_load(value)
        if previous == "--params-file":
            text = word.text if isinstance(word, YamlFile) else Path(word).read_text()
            for key, rules in yaml.safe_load(text).items():
                if key in ("/**", name):
                    merged |= rules["ros__parameters"]
    return {parameter: typed(value) for parameter, value in merged.items()}


def typed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [PARAMETER_TYPES[type(value[0]) if value else str] + "_ARRAY", value]
    return [PARAMETER_TYPES[type(value)], value]


def difference(case: Case, answer: dict[str, Any] | None, folder: Path) -> str | None:
    """What this launcher makes of a file that ROS 2 does not; None when they agree."""
    mine = ours(case, folder)
    if answer is None:
        return None if mine is None else f"ROS 2 refuses this file; accepted here: {mine}"
    if mine is None:
        return "ROS 2 accepts this file; refused here"
    theirs = [as_read(step) for step in answer["steps"]]
    for step in theirs:
        if step.get("parameters", {}) is None:  # the node would not start: no types to compare
            step.pop("parameters")
            same = [s for s in mine if s.get("name") == step["name"] and "parameters" in s]
            if not same:
                return f"no node {step['name']} with parameters here: {mine}"
            same[0].pop("parameters")
    # As text: nan equals nan there, and True does not equal 1.
    here, there = (json.dumps(steps, sort_keys=True) for steps in (mine, theirs))
    return None if here == there else f"\n    ROS 2: {there}\n    here:  {here}"


def listing_difference(case: Case, listing: str, folder: Path) -> str | None:
    """How the listing of the arguments of a file differs from that of ROS 2."""
    file = folder / "case.launch.xml"
    file.write_text(case.xml)
    mine = show_arguments(file, find_share=find_share)
    # Defaults with substitutions are shown as the file writes them, not as Python objects.
    there = [line for line in listing.splitlines() if "LaunchConfig" not in line]
    here = [line for line in mine.splitlines() if "$(" not in line]
    return None if here == there else f"\n    ROS 2: {there}\n    here:  {here}"
