# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runs nodes in a process: creates, activates and spins them, and exits with an exit code."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import NameValidationException, ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from vms_ph_dynamics import VmsPhError

from .health import WARN, Health, InputDiagnostics
from .heartbeat import UNEXPECTED
from .parameters import declare

# The variable by which the embedded launcher marks its processes: its process id.
_LAUNCHER_VARIABLE = "VMS_PH_LAUNCH"


def _configuration_exit_code() -> int:
    """Return the exit code of a node that cannot run with its parameters.

    The embedded launcher takes EX_CONFIG of sysexits.h as the sign that a restart would not help.
    """
    return 78 if _LAUNCHER_VARIABLE in os.environ else 1


# Errors by which a node ends; after others that a callback raises it goes on.
_FATAL_ERRORS = (ExternalShutdownException, VmsPhError, ParameterException, NameValidationException)


@contextmanager
def errors_in_one_sentence() -> Iterator[None]:
    """Print an import error as one sentence and exit with code 1, or 78 within a launch."""
    try:
        yield
    except VmsPhError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(_configuration_exit_code())


def interrupt(process: "subprocess.Popen[bytes]", timeout: float) -> None:
    """End a process as Ctrl-C does; kill it where it takes longer than some seconds."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def catch_signals() -> list[int]:
    """Return a list that takes SIGINT and SIGTERM from now on; they do nothing else."""
    signals: list[int] = []
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda signal_number, _: signals.append(signal_number))
    return signals


def require_free_port(host: str, port: int, alternative: str) -> None:
    """Check that a server can have a port.

    Raises:
        VmsPhError: it is in use; the message names ``alternative`` choice.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise VmsPhError(
                f"port {port} on {host} is in use ({os.strerror(error.errno or 0)}); choose "
                f"another, for instance {alternative}"
            ) from None


def launcher_check() -> Callable[[], bool]:
    """Return a function that tells whether the embedded launcher of this process still runs.

    A launcher may be killed; then nobody else ends this process. Without an embedded launcher the
    answer is always yes.
    """
    launcher_id = int(os.environ.get(_LAUNCHER_VARIABLE, "0"))
    if not launcher_id:
        return lambda: True
    if os.getppid() == launcher_id:
        # A killed launcher may stay a zombie, but its children get another parent at once.
        return lambda: os.getppid() == launcher_id
    return lambda: _is_running(launcher_id)


def _is_running(process_id: int) -> bool:
    """Whether a process runs; without /proc nobody can tell, and the answer is yes."""
    try:
        with open(f"/proc/{process_id}/stat", "rb") as file:
            # Behind the name, which may hold anything, stands the state; Z is that of a zombie.
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return not os.path.isdir("/proc/self")


def run(make: Callable[[], Node | list[Node]]) -> None:
    """Run one node, or several in one process, until Ctrl-C, then exit.

    The exit code is 0 after Ctrl-C or a requested shutdown. It is 1 if a node has set its attribute
    ``failed``, or after an error that no code expected; a callback that raises one ends no node. It
    is 1, or 78 within a launch, if a node cannot be created; the reason is then one sentence on
    stderr.
    """
    # The signal handlers of ROS would shut the context down before nodes announce their shutdown
    # and complete their files.
    signals = catch_signals()
    try:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # RCLError: arguments or a parameter file cannot be parsed
        print(f"error: {error}", file=sys.stderr)
        sys.exit(_configuration_exit_code())
    UNEXPECTED.watch_threads()
    nodes: list[Node] = []
    exit_code = 0
    launcher_is_running = launcher_check()
    try:
        created_nodes = make()
        nodes = created_nodes if isinstance(created_nodes, list) else [created_nodes]
        executor = SingleThreadedExecutor()
        for node in nodes:
            executor.add_node(node)
        # A waiting executor reacts to a signal by the next heartbeat at the latest.
        while rclpy.ok() and not signals and launcher_is_running():
            try:
                executor.spin_once()
            except _FATAL_ERRORS:
                raise
            except Exception as error:  # of one callback: the others go on
                if rclpy.ok():
                    UNEXPECTED.note(error, "a callback")
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (VmsPhError, ParameterException, NameValidationException) as error:
        print(f"error: {error}", file=sys.stderr)
        exit_code = _configuration_exit_code() if not nodes else 1
    finally:
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()
    if UNEXPECTED.count or any(getattr(node, "failed", False) for node in nodes):
        exit_code = exit_code or 1
    sys.exit(exit_code)


class ReportingMixin:
    """A node with a heartbeat.

    Attributes:
        INPUT: name of the input that the node always needs; the heartbeat warns when it stops.
        _health: the heartbeat.
        _input_diagnostics: logs and counts the messages that are refused.
        _steady: the clock of the machine, for timers; simulated time may be slow, or stand.
    """

    INPUT = ""

    def __init__(self, name: str) -> None:
        super().__init__(name)  # type: ignore[call-arg]
        self._health, self._input_diagnostics = Health(self, self.INPUT), InputDiagnostics(self)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        if self.INPUT:
            self._health.report(WARN, f"no {self.INPUT} received yet")

    def destroy_node(self) -> None:
        """Announce the shutdown to the other nodes, then end."""
        self._health.announce_shutdown()
        super().destroy_node()  # type: ignore[misc]


class ReportingNode(ReportingMixin, Node):
    """A node with a heartbeat."""


class ManagedNode(ReportingMixin, LifecycleNode):
    """A managed node with the parameter ``autostart``.

    Its creator calls :meth:`begin` when all inputs are available. Its transitions are triggered by
    ``ros2 lifecycle set /simulator deactivate``, for instance, or by its services.
    """

    def __init__(self, name: str) -> None:
        self.is_active = False
        super().__init__(name)
        self._autostart: bool = declare(self, "autostart")

    def begin(self) -> None:
        """Configure and activate the node unless the parameter ``autostart`` is false."""
        if self._autostart and self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark the node active."""
        self.is_active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark the node inactive."""
        self.is_active = False
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Mark the node inactive."""
        self.is_active = False
        return super().on_shutdown(state)
