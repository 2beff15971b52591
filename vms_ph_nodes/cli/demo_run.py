# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The demo: starts the nodes, shows the live view and prints a summary of the run."""

import os
import signal
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rich.console import Console
from rich.live import Live

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io import robots
from vms_ph_io.audit.run_record import read_run, report
from vms_ph_io.installation import command
from vms_ph_io.wings import hook

from ..views.live_view import LiveView
from .launch import find_launch_file, find_share

_HOST = "127.0.0.1"
_PATIENCE = 120.0  # timeout of the first energy message, s; a busy machine starts slowly
_REFRESH = 0.2  # refresh period of the live view, s


@dataclass(frozen=True)
class Options:
    """The options of the command line; ``robot`` holds the launch arguments about the robot."""

    robot: Mapping[str, str]
    headless: bool
    seconds: float
    rate: float
    speed: float
    push: float
    port: int
    bag: bool
    folder: Path


class Demo:
    """One run of the demo."""

    def __init__(self, options: Options) -> None:
        """Check the options before anything starts.

        Raises:
            VmsPhError: a setting of the robot that is not accepted, an invalid DDS domain, a port
                in use, or a folder that cannot be used.
        """
        self._options = options
        hook("embedded", "discovery").domain_id()  # an invalid one is reported here
        self._console = Console(stderr=False, highlight=False)
        if not options.headless:
            _check_port(options.port)
        self._bag = options.folder / "bag"
        # Reading the launch file checks the settings of the robot.
        self._description = self._load()
        if options.bag:
            _make_folder(options.folder)

    def run(self) -> int:
        """Run to the end and return the exit code."""
        options, start_time = self._options, time.monotonic()
        log = options.folder / "log"
        launch = hook("embedded", "launch")
        launcher = launch.Launcher(self._description, screen=self._console.out, log_folder=log)
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        self._print_addresses()
        launcher.start()
        try:
            received = self._watch(launcher, stop, start_time)
        finally:
            code = launcher.stop("end of the demo") or 0
        for process in launcher.processes:
            if not process.clean:
                self._console.print(
                    f"[red]{process.name} ended with exit code {process.exit_code}[/red]"
                )
            elif process.starts > 1:
                self._console.print(
                    f"[yellow]{process.name} was restarted {process.starts - 1} times[/yellow]"
                )
        if not received:
            self._console.print("[red]no energy message was received; see the lines above[/red]")
            return 1
        self._print_summary()
        return code

    def _load(self) -> Any:
        options = self._options
        arguments = {
            **{name: value for name, value in options.robot.items() if value},
            "rate": str(float(options.rate)),
            "real_time_factor": str(float(options.speed)),
            "push_period": str(float(options.push)),
            "web": str(not options.headless).lower(),
            "port": str(options.port),
            "record": str(options.bag).lower(),
            "bag": str(self._bag),
        }
        file = find_launch_file(_launch_file_of(options.robot["robot"]))
        return hook("embedded", "launch", user="vms-ph demo").load(
            file, arguments, find_share=find_share
        )

    def _print_addresses(self) -> None:
        options, out = self._options, self._console.out
        if not options.headless:
            out(f"page      http://{_HOST}:{options.port}")
        out(f"bag       {self._bag if options.bag else 'none'}")
        out(f"topics    in another terminal: {command()} topic echo /vms_ph/energy")
        out(f'ROS 2     eval "$({command()} env)" in its terminal, with Cyclone DDS')

    def _watch(self, launcher: Any, stop: threading.Event, start_time: float) -> bool:
        """Show the live view until the end; return whether any energy message was received."""
        rclpy.init(args=[], signal_handler_options=rclpy.SignalHandlerOptions.NO)
        view = LiveView()
        executor = SingleThreadedExecutor()
        executor.add_node(view)
        live = None
        if self._console.is_terminal and not self._options.headless:
            live = Live(console=self._console, auto_refresh=False, transient=False)
        first: float | None = None
        try:
            while not stop.is_set() and launcher.poll() is None:
                executor.spin_once(timeout_sec=0.02)
                now = time.monotonic()
                if first is None:
                    if view.energy is not None:
                        first = last_refresh = now
                        self._console.out(f"first energy message after {now - start_time:.2f} s")
                        if live is not None:
                            live.start()
                    elif now - start_time > _PATIENCE:
                        break
                elif self._options.seconds and now - first >= self._options.seconds:
                    break
                elif live is not None and now - last_refresh >= _REFRESH:
                    live.update(view.render(), refresh=True)
                    last_refresh = now
        except ExternalShutdownException:
            pass
        finally:
            if live is not None:
                live.stop()
            executor.shutdown()
            view.destroy_node()
            rclpy.try_shutdown()
        return first is not None

    def _print_summary(self) -> None:
        if not self._options.bag:
            return
        from vms_ph_io.audit.plots import plot_run

        try:
            run = read_run(self._bag)
        except VmsPhError as error:
            self._console.print(f"no summary: {error}", style="red", markup=False)
            return
        plot = self._options.folder / "energy.png"
        plot_run(run, plot)
        for line in report(run):
            self._console.out(line)
        self._console.out(f"bag       {self._bag}")
        self._console.out(f"plot      {plot}")


def _launch_file_of(robot: str) -> str:
    """Return the launch file of a bundled robot, or that of any robot."""
    return robot if robot in robots.names() else "robot"


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            raise VmsPhError(
                f"port {port} on {_HOST} is in use ({os.strerror(error.errno or 0)}); choose "
                f"another with --port {port + 1}"
            ) from None


def _make_folder(folder: Path) -> None:
    if (folder / "bag").exists():
        raise VmsPhError(f"{folder} already contains a bag; choose another folder with --out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VmsPhError(
            f"{folder} cannot be created: {error.strerror}; choose one with --out"
        ) from None
