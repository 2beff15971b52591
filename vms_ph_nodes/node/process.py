"""Runs nodes in a process: creates them, spins them and exits with an exit code."""

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
    """Print an import error as one sentence and exit with code 1."""
    try:
        yield
    except VmsPhError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


def run(make: Callable[[], Node | list[Node]]) -> None:
    """Run one node, or several in one process, until Ctrl-C, then exit.

    The exit code is 0 after Ctrl-C or a requested shutdown, and 1 if a node cannot be created;
    the reason is then one sentence on stderr.
    """
    # The signal handlers of ROS would shut the context down before nodes announce their shutdown
    # and complete their files.
    stopped = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.append(True))
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # RCLError: arguments or a parameter file cannot be parsed
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
        # A waiting executor reacts to a signal by the next heartbeat at the latest.
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
