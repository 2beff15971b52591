"""Runs nodes as a process: start, spin, end with an exit code."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rclpy
from rclpy.exceptions import NameValidationException, ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from vms_ph_dynamics.errors import VmsPhError


@contextmanager
def errors_in_one_sentence() -> Iterator[None]:
    """Print an error of an import as one sentence and end the process with exit code 1."""
    try:
        yield
    except VmsPhError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


def run(make: Callable[[], Node | list[Node]]) -> None:
    """Run one node, or several in one process, until Ctrl-C; then exit.

    The exit code is 0 after Ctrl-C or a shutdown asked for, and 1 when a node could not be made;
    the reason is then one sentence on stderr.
    """
    # ROS's own handlers would end the context before the nodes could announce their shutdown and
    # finish their files.
    stopped = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.append(True))
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # RCLError: arguments, or a parameter file, that cannot be read
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    nodes: list[Node] = []
    code = 0
    try:
        made = make()
        nodes = made if isinstance(made, list) else [made]
        executor = SingleThreadedExecutor()
        for node in nodes:
            executor.add_node(node)
        # A waiting executor notices a signal at the next heartbeat at the latest.
        while rclpy.ok() and not stopped:
            executor.spin_once()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (VmsPhError, ParameterException, NameValidationException) as error:
        print(f"error: {error}", file=sys.stderr)
        code = 1
    finally:
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()
    sys.exit(code)
