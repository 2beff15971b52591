# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The demo: starts the nodes, waits for their end and prints a summary of the run."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import rclpy
import typer
from rclpy.executors import ExternalShutdownException
from std_msgs.msg import String
from vms_ph.msg import Energy

from vms_ph_dynamics import VmsPhError
from vms_ph_io import robots
from vms_ph_io.audits.run_record import read_run, report
from vms_ph_io.installation import command_name
from vms_ph_io.settings.bounded_text import writing
from vms_ph_io.tasks import robot_tasks
from vms_ph_io.wings import hook

from ..node.process import catch_signals, require_free_port
from ..views.commands import CHOICE_TOPICS
from ..views.page_address import HOST, page_token
from .launch import find_launch_file

_START_TIMEOUT = 120.0  # timeout of the first energy message, s; a busy machine starts slowly
_DISCOVERY_TIME = 1.0  # for discovering the nodes that run already, s
_ENERGY_TOPIC = "vms_ph/energy"


class Demo:
    """One run of the demo."""

    def __init__(self, arguments: Mapping[str, Any], seconds: float, folder: Path) -> None:
        """Check the options before anything starts.

        Args:
            arguments: of the launch file of a demo, with its ``task``, or of a robot's.
            seconds: duration of the run, s; 0: until Ctrl-C.
            folder: for bag and plot.

        Raises:
            VmsPhError: a setting of the robot that is not accepted, an invalid DDS domain or
                token, a port in use, or a folder that cannot be used.
        """
        self._seconds = seconds
        hook("embedded", "discovery").domain_id()  # an invalid one is reported here
        if arguments["web"]:
            port: int = arguments["port"]
            require_free_port(HOST, port, f"--port {port + 1}")
        page_token(arguments["token"])  # for the page, in the environment
        self._prepare_run(arguments, folder)

    def run(self) -> int:
        """Run to the end, and a demo that is chosen on the page after it; return the exit code."""
        signals = catch_signals()
        rclpy.init(args=[], signal_handler_options=rclpy.SignalHandlerOptions.NO)
        self._node = rclpy.create_node("demo", start_parameter_services=False)
        if "task" in self._arguments:
            self._node.create_subscription(String, CHOICE_TOPICS["demo"], self._on_choice, 10)
        first_folder, count, self._next_task = self._folder, 1, ""
        try:
            deadline = time.monotonic() + _DISCOVERY_TIME
            while time.monotonic() < deadline and not signals:
                self._reject_other_robots(0)
                time.sleep(0.05)
            exit_code = self._run(signals)
            while self._next_task and not signals:
                count += 1
                folder = first_folder.with_name(f"{first_folder.name}_{count}_{self._next_task}")
                self._prepare_run({**self._arguments, "task": self._next_task}, folder)
                self._next_task = ""
                exit_code = self._run(signals)
            return exit_code
        finally:
            self._node.destroy_node()
            rclpy.try_shutdown()

    def _prepare_run(self, arguments: Mapping[str, Any], folder: Path) -> None:
        """Take what is run next, and check it: reading the launch file checks the settings."""
        self._arguments, self._folder, self._bag = arguments, folder, folder / "bag"
        robot = arguments.get("robot")
        launch_name = "task" if robot is None else robot if robot in robots.names() else "robot"
        launch_texts = {name: str(value) for name, value in {**arguments, "bag": self._bag}.items()}
        launch_texts |= {name: launch_texts[name].lower() for name in ("web", "record")}
        launch_module = hook("embedded", "launch", user="vms-ph demo")
        self._description = launch_module.load(find_launch_file(launch_name), launch_texts)
        if arguments["record"]:
            if self._bag.exists():
                raise VmsPhError(f"{folder} already has a bag; choose another folder with --out")
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)

    def _on_choice(self, message: String) -> None:
        if message.data in robot_tasks.demos():
            self._next_task = message.data

    def _run(self, signals: list[int]) -> int:
        start_time, logs = time.monotonic(), self._folder / "log"
        launch_module = hook("embedded", "launch")
        launcher = launch_module.Launcher(self._description, screen=typer.echo, log_folder=logs)
        self._print_addresses()
        launcher.start()
        try:
            has_energy = self._wait_for_end(launcher, signals, start_time)
        finally:
            exit_code = launcher.stop("end of the demo") or 0
        for process in launcher.processes:
            if not process.clean:
                _warn(f"{process.name} ended with exit code {process.exit_code}")
            elif process.starts > 1:
                _warn(f"{process.name} was restarted {process.starts - 1} times")
        if not has_energy:
            _warn("no energy message was received; see the lines above")
            return 1
        if self._arguments["record"]:
            self._print_summary()
        return exit_code

    def _reject_other_robots(self, monitor_count: int) -> None:
        """Raise an error where energies of others arrive too: the summary would mix them."""
        if self._node.count_publishers(_ENERGY_TOPIC) > monitor_count:
            domain = hook("embedded", "discovery").domain_id()
            raise VmsPhError(
                f"another robot's energies are on {_ENERGY_TOPIC} in DDS domain {domain}; end that "
                f"run, or run this one with ROS_DOMAIN_ID={(domain + 1 + os.getpid() % 100) % 102}"
            )

    def _print_addresses(self) -> None:
        if self._arguments["web"]:
            typer.echo("page      its address follows as soon as it can be opened")
        typer.echo(f"bag       {self._bag if self._arguments['record'] else 'none'}")
        typer.echo(f"topics    in another terminal: {command_name()} topic echo /vms_ph/energy")
        typer.echo(f'ROS 2     eval "$({command_name()} env)" in its terminal, with Cyclone DDS')

    def _wait_for_end(self, launcher: Any, signals: list[int], start_time: float) -> bool:
        """Wait until the end; return whether any energy message was received."""
        node = self._node
        first_energy_time: float | None = None

        def on_energy(message: Energy) -> None:
            nonlocal first_energy_time
            if first_energy_time is None:
                first_energy_time = time.monotonic()
                typer.echo(f"first energy message after {first_energy_time - start_time:.2f} s")
                node.destroy_subscription(subscription)

        monitors = [p for p in launcher.processes if p.name.startswith("energy_monitor")]
        subscription = node.create_subscription(Energy, _ENERGY_TOPIC, on_energy, 10)
        with suppress(ExternalShutdownException):
            while not (signals or self._next_task) and launcher.poll() is None:
                rclpy.spin_once(node, timeout_sec=0.05)
                # A monitor that was restarted may be counted twice.
                self._reject_other_robots(sum(monitor.starts for monitor in monitors))
                now = time.monotonic()
                if first_energy_time is None and now - start_time > _START_TIMEOUT:
                    break
                if first_energy_time is not None and 0.0 < self._seconds <= now - first_energy_time:
                    break
        return first_energy_time is not None

    def _print_summary(self) -> None:
        from vms_ph_io.audits.plots import plot_run

        try:
            run_record = read_run(self._bag)
        except VmsPhError as error:
            _warn(f"no summary: {error}")
            return
        plot_file = self._folder / "energy.png"
        plot_run(run_record, plot_file)
        for line in (*report(run_record), f"bag       {self._bag}", f"plot      {plot_file}"):
            typer.echo(line)


def _warn(text: str) -> None:
    typer.secho(text, fg=typer.colors.RED)
