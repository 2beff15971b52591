"""What ROS 2 Jazzy made of many launch files (jazzy/record.py), against what this launcher does."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from vms_ph_embedded.launch import LaunchError, load, show_arguments
from vms_ph_embedded.launch.description import Log, ProcessDescription, YamlFile

JAZZY = Path(__file__).parent / "jazzy"
sys.path.insert(0, str(JAZZY))

from launch_cases import Case, cases  # noqa: E402

ANSWERS: dict[str, Any] = json.loads((JAZZY / "answers.json").read_text())
CASES = {case.name: case for case in cases()}

# Accepted by ROS 2 and refused here, where the message says what to write instead: what ROS 2
# hands over changed, what it takes for something else than it says, and Python beyond arithmetic.
STRICTER = set(yaml.safe_load((JAZZY / "stricter.yaml").read_text()))

# Text marked as text that ROS 2 nevertheless hands over as a number or a truth value. Here it
# stays text.
MARKED_AS_TEXT = {
    f"param {kind} {value!r}"
    for kind, value in (
        *(("str", v) for v in ("y", "n", "1e3", "1e-6", "nan", "$(var tiny)")),
        *(("list_of_str", v) for v in ("[y, n]", "[1e3, 2e3]", "[x, 1e3]", "[$(var tiny)]")),
    )
}
PARAMETER_TYPES = {bool: "BOOL", int: "INTEGER", float: "DOUBLE", str: "STRING"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T_HERE", str(JAZZY / "files"))
    monkeypatch.delenv("OVERRIDE_LAUNCH_PROCESS_OUTPUT", raising=False)


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


def as_recorded(step: Log | ProcessDescription, folder: Path) -> dict[str, Any]:
    if isinstance(step, Log):
        return {"log": relative(step.message, folder)}
    recorded: dict[str, Any] = {
        "name": step.name,
        "command": without_files([str(word) for word in step.command]),
        "directory": step.working_directory,
        "environment": {
            k: v for k, v in step.environment.items() if k.startswith("T_") and k != "T_HERE"
        },
        "shell": step.shell,
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
    step = {k: v for k, v in recorded.items() if k != "node"}
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


@pytest.mark.parametrize("name", sorted(CASES.keys() - STRICTER - MARKED_AS_TEXT))
def test_a_launch_file_means_what_it_means_to_ros2(name: str, tmp_path: Path) -> None:
    answer = ANSWERS[name]
    mine = ours(CASES[name], tmp_path)
    if answer is None:
        assert mine is None, "ROS 2 refuses this file"
        return
    theirs = [as_read(step) for step in answer["steps"]]
    assert mine is not None, "ROS 2 accepts this file"
    for step in theirs:
        if step.get("parameters", {}) is None:  # the node would not start: no types to compare
            step.pop("parameters")
            next(s for s in mine if s.get("name") == step["name"]).pop("parameters")
    # As text: nan equals nan there, and True does not equal 1.
    assert json.dumps(mine, sort_keys=True) == json.dumps(theirs, sort_keys=True)


@pytest.mark.parametrize("name", sorted(STRICTER))
def test_what_ros2_would_change_on_the_way_is_refused(name: str, tmp_path: Path) -> None:
    assert ANSWERS[name] is not None
    assert ours(CASES[name], tmp_path) is None


@pytest.mark.parametrize("name", sorted(MARKED_AS_TEXT))
def test_text_marked_as_text_stays_text(name: str, tmp_path: Path) -> None:
    (step,) = ours(CASES[name], tmp_path) or []
    assert step["parameters"]["p"][0].startswith("STRING")


def test_every_recorded_case_is_compared() -> None:
    assert ANSWERS.keys() == CASES.keys()
    accepted = sum(answer is not None for answer in ANSWERS.values())
    assert accepted > 300  # a recording that refuses everything would prove nothing


@pytest.mark.parametrize(
    "name", sorted(name for name, answer in ANSWERS.items() if (answer or {}).get("show_args"))
)
def test_the_listing_of_arguments_reads_like_that_of_ros2(name: str, tmp_path: Path) -> None:
    file = tmp_path / "case.launch.xml"
    file.write_text(CASES[name].xml)
    mine = show_arguments(file, find_share=find_share)
    # Defaults with substitutions are shown as the file writes them, not as Python objects.
    theirs = [
        line for line in ANSWERS[name]["show_args"].splitlines() if "LaunchConfig" not in line
    ]
    assert [line for line in mine.splitlines() if "$(" not in line] == theirs
