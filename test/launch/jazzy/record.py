# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Records what a real ROS 2 makes of the cases: ``python record.py`` with ROS 2 Jazzy sourced.

Nothing is started: ``ros2 launch``'s own code carries the files out up to the point where it would
start a process. Each node command is then given to a real rclpy node, which tells the parameters
and topic names it would have. The answers go to ``answers.json`` beside this file.
"""

import contextlib
import io
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import launch.descriptions.executable
import launch.launch_description_sources
import rclpy
from launch.actions.execute_local import ExecuteLocal
from launch.actions.log_info import LogInfo
from launch.utilities import perform_substitutions
from launch_cases import Case, cases
from ros2launch.api import api

import launch

HERE = Path(__file__).resolve().parent
TOPICS = ("chatter", "scan")


def private(owner: object, name: str) -> Any:
    """A private attribute: there is no other way to look into the actions."""
    return getattr(owner, f"_ExecuteLocal__{name}")


class Recorder:
    """Takes the place of starting processes and of logging."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        ExecuteLocal.execute = lambda action, context: self.process(action, context)  # type: ignore[method-assign]
        LogInfo.execute = lambda action, context: self.log(action, context)  # type: ignore[method-assign]

    def process(self, action: ExecuteLocal, context: launch.LaunchContext) -> None:
        action.prepare(context)
        described = action.process_description
        timeouts = [
            float(perform_substitutions(context, private(action, f"sig{name}_timeout")))
            for name in ("term", "kill")
        ]
        self.steps.append(
            {
                "name": described.final_name,
                "command": described.final_cmd,
                "directory": described.final_cwd,
                "environment": {k: v for k, v in described.final_env.items() if is_ours(k)},
                "shell": action.shell,
                "output": perform_substitutions(context, action.output),
                "respawn": private(action, "respawn"),
                "respawn_delay": private(action, "respawn_delay") or 0.0,
                "respawn_max_retries": private(action, "respawn_max_retries"),
                "shutdown_on_exit": bool(private(action, "on_exit")),
                "timeouts": timeouts,
            }
        )

    def log(self, action: LogInfo, context: launch.LaunchContext) -> None:
        self.steps.append({"log": perform_substitutions(context, action.msg)})


def is_ours(variable: str) -> bool:
    return variable.startswith("T_") and variable != "T_HERE"


def answer(case: Case, recorder: Recorder, file: Path) -> list[dict[str, Any]] | None:
    """The steps of one case; None when ROS 2 refuses it."""
    recorder.steps = []
    launch.descriptions.executable._executable_process_counter = 0
    environment = dict(os.environ)
    try:
        arguments = api.parse_launch_arguments(list(case.arguments))
        file.write_text(case.xml)
        source = launch.launch_description_sources.AnyLaunchDescriptionSource(str(file))
        include = launch.actions.IncludeLaunchDescription(source, launch_arguments=arguments)
        service = launch.LaunchService(argv=list(case.arguments), noninteractive=True)
        service.include_launch_description(launch.LaunchDescription([include]))
        return recorder.steps if service.run() == 0 else None
    except Exception:
        return None
    finally:
        os.environ.clear()
        os.environ.update(environment)


def listing(file: Path) -> str | None:
    """What ``ros2 launch --show-args`` prints."""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            api.print_arguments_of_launch_file(launch_file_path=str(file))
    except Exception:
        return None
    return text.getvalue()


def node_view(command: list[str]) -> dict[str, Any] | None:
    """What a node started with this command sees; None when it could not start."""
    context = rclpy.Context()
    try:
        rclpy.init(args=command, context=context)
        node = rclpy.create_node(
            "unnamed",
            context=context,
            automatically_declare_parameters_from_overrides=True,
            start_parameter_services=False,
            enable_rosout=False,
        )
        own = {"use_sim_time", "start_type_description_service"}
        return {
            "name": node.get_fully_qualified_name(),
            "parameters": {
                name: [parameter.type_.name, plain(parameter.value)]
                for name, parameter in node._parameters.items()
                if name not in own
            },
            "topics": [node.resolve_topic_name(topic) for topic in TOPICS],
        }
    except Exception:
        return None
    finally:
        with contextlib.suppress(Exception):
            rclpy.shutdown(context=context)


def plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | str) else list(value)  # type: ignore[call-overload]


def main() -> None:
    logging.disable(logging.CRITICAL)
    recorder, answers = Recorder(), {}
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder, "prefix")
        for program in ("simulator", "controller"):
            path = prefix / "lib/vms_ph" / program
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/sh\n")
            path.chmod(0o755)
        index = prefix / "share/ament_index/resource_index/packages"
        index.mkdir(parents=True)
        (index / "vms_ph").touch()
        os.environ["AMENT_PREFIX_PATH"] = f"{prefix}:{os.environ['AMENT_PREFIX_PATH']}"
        os.environ["T_HERE"] = str(HERE / "files")
        file = Path(folder, "case.launch.xml")
        for case in cases():
            steps = answer(case, recorder, file)
            for step in steps or []:
                if "--ros-args" in step.get("command", []):
                    step["node"] = node_view(step["command"])
            shown = listing(file) if case.arguments == () and "<arg" in case.xml else None
            text = json.dumps({"steps": steps, "show_args": shown}, ensure_ascii=False)
            text = text.replace(str(prefix / "lib/vms_ph"), "<bin>")
            text = text.replace(str(HERE / "files"), "<here>")
            recorded = json.loads(text.replace(folder, "<folder>"))
            answers[case.name] = None if steps is None else recorded
    lines = [
        f"{json.dumps(k, ensure_ascii=False)}: {json.dumps(v, ensure_ascii=False)}"
        for k, v in answers.items()
    ]
    (HERE / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
