# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Live view in the terminal: energies, port powers and status of the nodes."""

from collections.abc import Iterator
from functools import partial

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from vms_ph.msg import ControllerState, Energy, Power

from vms_ph_dynamics.forms import PORTS
from vms_ph_io.audit.energy_split import BASE, LawSplit, moves, parts_of_law, parts_of_robot

from ..messages.conversions import NANOSECONDS, from_stamp
from ..node.health import TOPIC, node_name

_STYLES = {DiagnosticStatus.OK: "green", DiagnosticStatus.WARN: "yellow"}


class LiveView(Node):
    """Subscribes to energies, port powers and diagnostics, and renders them as tables."""

    def __init__(self) -> None:
        super().__init__("live_view", start_parameter_services=False)
        self.energy: Energy | None = None
        self.power: Power | None = None
        self.control: ControllerState | None = None
        self._law = LawSplit()
        self._health: dict[str, DiagnosticStatus] = {}
        self._start = 0
        self.create_subscription(Energy, "vms_ph/energy", self._on_energy, 10)
        self.create_subscription(Power, "vms_ph/power", self._on_power, 10)
        self.create_subscription(ControllerState, "controller/state", self._on_control, 10)
        self.create_subscription(DiagnosticArray, TOPIC, self._on_diagnostics, 50)

    def render(self) -> RenderableType:
        """Return the latest values as tables that fit a terminal of 80 by 24."""
        energies = _table("energy", "J", self._energies())
        powers = _table("power in", "W", self._powers())
        return Group(Columns([energies, powers]), self._nodes())

    @property
    def seconds(self) -> float:
        """Robot time since the first energy message, s."""
        if self.energy is None:
            return 0.0
        return (from_stamp(self.energy.header.stamp) - self._start) / NANOSECONDS

    def _energies(self) -> Iterator[tuple[str, float]]:
        split = self._law.split
        if self.energy is not None:
            yield "total", self.energy.total
            for name, value in parts_of_robot(partial(getattr, self.energy), split).items():
                yield f"  {name}", value
        if self.control is not None:
            yield "closed loop", self.control.closed_loop_energy
            for name, value in parts_of_law(partial(getattr, self.control), split).items():
                yield f"  {name}", value

    def _powers(self) -> Iterator[tuple[str, float]]:
        if self.power is not None:
            for port in PORTS:
                yield port, getattr(self.power, port)
            yield from zip(self.power.tool_names, self.power.tool_power, strict=False)
            yield "friction", -self.power.dissipated
            if self._law.split is not BASE:
                yield "null space to task", self.power.null_to_task
        if self.control is not None:
            c = self.control
            damping = c.damping_task + c.damping_null + c.damping_base + c.damping_shape
            yield "injected damping", -damping

    def _nodes(self) -> Table:
        table = Table(
            title=f"nodes at {self.seconds:.1f} s", title_justify="left", box=box.SIMPLE_HEAD
        )
        table.add_column("node")
        table.add_column("status")
        for name in sorted(self._health):
            status = self._health[name]
            style = _STYLES.get(status.level, "bold red")
            table.add_row(name, Text(status.message, style=style))
        if self.control is not None:
            table.add_row("task error", f"{1e3 * self.control.task_error:.2f} mm")
        if self.power is not None:
            energy, residual = self.power.unaccounted_energy, self.power.residual
            table.add_row("unaccounted energy", f"{energy:+.1e} J, residual {residual:+.1e} W")
        return table

    def _on_energy(self, message: Energy) -> None:
        if self.energy is None:
            self._start = from_stamp(message.header.stamp)
        self.energy = message
        self._law.moving = moves(message.header.frame_id)

    def _on_power(self, message: Power) -> None:
        self.power = message

    def _on_control(self, message: ControllerState) -> None:
        self.control = message
        self._law.see(partial(getattr, message))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = node_name(status)
            if name:
                self._health[name] = status


def _table(title: str, unit: str, rows: Iterator[tuple[str, float]]) -> Table:
    table = Table(title=f"{title} ({unit})", title_justify="left", show_header=False, box=None)
    table.add_column()
    table.add_column(justify="right", width=11)
    for name, value in rows:
        table.add_row(name, f"{value + 0.0:+.5f}")  # no negative zero
    return table
