"""vms-ph page: a launch with the web page, whose robot can be changed on the page."""

import signal
import subprocess
import sys
from collections.abc import Callable

import typer

from vms_ph_dynamics.errors import VmsPhError

# Time that a launch has to end, s.
_PATIENCE = 20.0


def page(
    robot: str = typer.Argument("panda", help="the first robot, one of the bundled ones"),
    port: int = typer.Option(8080, help="port of the page on 127.0.0.1", min=1, max=65535),
    push: float = typer.Option(0.0, help="period of the pushes, s; 0: no pushes", min=0.0),
) -> None:
    """Simulate a robot on a web page where others can be chosen from a list; Ctrl-C ends it.

    For a robot of your own: vms-ph launch robot robot:=FILE web:=true
    """
    from vms_ph_io import robots

    if robot not in robots.names():
        raise VmsPhError(
            f"there is no bundled robot '{robot}'; there are {', '.join(robots.names())}"
        )
    words = [sys.executable, "-c", "from vms_ph_nodes.cli import main; main()", "launch"]
    options = ["web:=true", f"port:={port}", f"push_period:={push}"]
    sys.exit(supervise(robot, lambda name: [*words, name, *options]))


def supervise(first: str, command_of: Callable[[str], list[str]]) -> int:
    """Run the command of a robot until another one is chosen, then that of the other one.

    Args:
        first: name of the first robot.
        command_of: returns the command of a robot.

    Returns:
        The exit code: that of a command that ends by itself, zero after Ctrl-C.
    """
    import rclpy
    from rclpy.node import Node
    from std_msgs.msg import String

    from vms_ph_io import robots

    from ..robot.commands import ROBOT_TOPIC

    chosen = [first]

    def choose(message: String) -> None:
        if message.data in robots.names():
            chosen.append(message.data)
        else:
            node.get_logger().warning(
                f"no bundled robot '{message.data}'; there are {', '.join(robots.names())}"
            )

    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: stopped.append(number))
    rclpy.init(args=[], signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = Node("page_supervisor", start_parameter_services=False)
    node.create_subscription(String, ROBOT_TOPIC, choose, 10)
    try:
        while not stopped:
            name = chosen[-1]
            del chosen[:-1]
            # A session of its own: Ctrl-C reaches it from here only.
            process = subprocess.Popen(command_of(name), start_new_session=True)
            try:
                while not stopped and len(chosen) == 1 and process.poll() is None:
                    rclpy.spin_once(node, timeout_sec=0.1)
                if process.poll() is not None and not stopped and len(chosen) == 1:
                    return process.returncode
            finally:
                _end(process)
        return 0
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
