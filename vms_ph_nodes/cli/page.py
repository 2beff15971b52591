# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph page: a launch with the web page, whose robot, law and scene are chosen on the page."""

import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import typer

from vms_ph_dynamics import OptionError, VmsPhError

# Time that a launch has to end, s.
_STOP_TIMEOUT = 20.0


class Choice(NamedTuple):
    """What is simulated.

    Attributes:
        robot: name or file.
        law: its control law; empty: that of the parameter file.
        scene: around it; empty: none.
        demo: instead of all this; empty: none.
    """

    robot: str
    law: str = ""
    scene: str = ""
    demo: str = ""


def page(
    context: typer.Context,
    robot: str = typer.Argument(
        "panda", help="the first robot: a bundled one, or the path of a URDF, xacro or MJCF file"
    ),
    controller: str = typer.Option("", help="its law; default: as in the parameter file"),
    scene: str = typer.Option("", help="the scene around it: a bundled one, or a file"),
    port: int = typer.Option(8080, help="port of the page on 127.0.0.1", min=1, max=65535),
    push: float = typer.Option(0.0, help="period of the pushes, s; 0: no pushes", min=0.0),
) -> None:
    """Simulate a robot on a web page, where robot, law and scene are chosen; Ctrl-C ends it.

    Files and laws of your own are on its lists where they are named here, with launch arguments:
    vms-ph page panda laws:=my_law.py:MyLaw,other.py:Other robots:=my_arm.urdf scenes:=desk.yaml
    """
    from vms_ph_io import robots

    from ..check_settings import check, choices, names_in
    from ..views.page_address import page_token

    arguments = dict(_parse_argument(word) for word in context.args)
    check({"robot": robot, "controller": controller, "scene": scene})

    def resolved_name(name: str) -> str:
        return name if name in robots.names() else str(Path(name).resolve())

    first_choice = Choice(resolved_name(robot), controller, scene)
    for key, current_name in zip(("robots", "laws", "scenes"), first_choice, strict=False):
        names = names_in({"first": current_name, **arguments}, "first", key)
        arguments[key] = ",".join(map(resolved_name, names) if key == "robots" else names)
    page_token(arguments.get("token", "auto"))  # one for all launches: open browsers find the next

    def command_of(choice: Choice) -> list[str]:
        name, law, scene_name, demo = choice
        command = (sys.executable, "-c", "from vms_ph_nodes.cli import main; main()", "launch")
        if demo:
            token = arguments.get("token", "auto")
            page_arguments = ("web:=true", f"port:={port}", f"token:={token}")
            return [*command, "task", f"task:={demo}", *page_arguments]
        return [
            *command,
            *([name] if name in robots.names() else ["robot", f"robot:={name}"]),
            *("web:=true", f"port:={port}", f"push_period:={push}"),
            *([f"controller:={law}"] if law else []),
            *([f"scene:={scene_name}"] if scene_name else []),
            *(f"{name}:={text}" for name, text in arguments.items() if text),
        ]

    sys.exit(supervise(first_choice, command_of, choices(arguments)))


def _parse_argument(word: str) -> tuple[str, str]:
    """Return name and value of a launch argument.

    Raises:
        OptionError: it is none, or one that has an option here.
    """
    name, separator, text = word.partition(":=")
    if not separator or name in ("robot", "controller", "scene", "web", "port", "push_period"):
        raise OptionError(
            "further arguments are those of the launch file but robot, controller, scene, web, "
            f"port and push_period, as name:=value; given: {word!r}"
        )
    return name, text


def supervise(
    start: Choice, command_of: Callable[[Choice], list[str]], options: Mapping[str, Collection[str]]
) -> int:
    """Run the command of a choice until another one is made, then that of the other one.

    A command that fails after a choice is replaced by that of the choice before.

    Args:
        start: robot, law and scene that are shown first.
        command_of: returns the command of a choice.
        options: names that can be chosen, by the fields of a choice.

    Returns:
        The exit code: that of a command that ends by itself, zero after Ctrl-C.
    """
    import rclpy
    from rclpy.node import Node
    from std_msgs.msg import String

    from ..check_settings import check
    from ..node.process import catch_signals, interrupt
    from ..views.commands import CHOICE_TOPICS

    selection, last_working = start, start
    requests: list[Choice] = []

    def request_choice(choice: Choice) -> None:
        try:
            check({"robot": choice.robot, "controller": choice.law, "scene": choice.scene})
        except VmsPhError as error:
            node.get_logger().warning(str(error))
        else:
            requests.append(choice)

    signals = catch_signals()
    rclpy.init(args=[], signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = Node("page_supervisor", start_parameter_services=False)

    def on_choice(choice: str, message: Any) -> None:
        name = message.data
        if name not in options[choice] and (name or choice == "robot"):
            node.get_logger().warning(
                f"there is no {choice} {name!r} to choose; there are {', '.join(options[choice])}, "
                f"and those that vms-ph page is started with, as in {choice}s:=..."
            )
            return
        # Another robot begins with its own law, and alone.
        previous_choice = Choice("") if choice == "robot" else selection._replace(demo="")
        request_choice(previous_choice._replace(**{choice: name}))

    for choice, topic in CHOICE_TOPICS.items():
        node.create_subscription(String, topic, partial(on_choice, choice), 10)
    try:
        while not signals:
            # A session of its own: Ctrl-C reaches it from here only.
            process = subprocess.Popen(command_of(selection), start_new_session=True)
            try:
                while not (signals or requests) and process.poll() is None:
                    rclpy.spin_once(node, timeout_sec=0.1)
            finally:
                exit_code = process.poll()
                interrupt(process, _STOP_TIMEOUT)
            if requests:
                last_working, selection = selection, requests.pop()
                requests.clear()
            elif not signals:
                if not exit_code or selection == last_working:
                    return exit_code or 0
                node.get_logger().warning(f"{selection} has failed; {last_working} is shown again")
                selection = last_working
        return 0
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
