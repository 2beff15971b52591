# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded run as time series."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, VmsPhError
from vms_ph_dynamics.energy.legend import label_of
from vms_ph_dynamics.forms import PORTS

from ..energy_split import (
    BASE,
    TASK,
    EnergySplit,
    is_moving_base,
    parts_of_law,
    parts_of_robot,
    split_of_law,
)  # fmt: skip
from ..recordings.messages import Messages, decode

Series = Mapping[str, Array]
"""Columns by field name; ``time`` in s since the first energy message."""

_RESTART_JUMP_NS = 500_000_000  # by how much time goes back where a run begins anew

_TOPICS = {"vms_ph/energy": "energy", "vms_ph/power": "power", "controller/state": "control"}


@dataclass(frozen=True)
class RunRecord:
    """Energy, power and control of a recorded run, as tables of columns of equal length.

    Attributes:
        name: name of the bag.
        energy: fields of vms_ph/msg/Energy.
        power: fields of vms_ph/msg/Power; for a tool port, ``<name>`` and ``<name>_energy``.
        control: fields of vms_ph/msg/ControllerState; empty if none was recorded.
        frame: the inertial frame.
        repeats: number of runs in the bag, of which this is the last: its time began anew.
    """

    name: str
    energy: Series
    power: Series
    control: Series
    frame: str = ""
    repeats: int = 1

    @property
    def unaccounted_energy(self) -> float:
        """Unaccounted energy at the end of the run, J."""
        return float(self.power["unaccounted_energy"][-1])

    @property
    def ports(self) -> tuple[str, ...]:
        """Names of the ports: the default ports, then the tool ports."""
        tools = [name.removesuffix("_energy") for name in self.power if name.endswith("_energy")]
        standard = (*PORTS, "dissipated", "unaccounted")
        return (*PORTS, *(name for name in tools if name not in standard))

    @property
    def is_moving_base(self) -> bool:
        """Whether the robot is on a moving base."""
        return is_moving_base(self.frame)

    @property
    def shown_ports(self) -> tuple[str, ...]:
        """The ports with power, and the base port of a moving base even without."""
        powers, energies = self.port_powers, self.port_energies
        always = ["wrench_base"] * self.is_moving_base
        return tuple(p for p in self.ports if powers[p].any() or energies[p].any() or p in always)

    @property
    def split(self) -> EnergySplit | None:
        """The split of kinetic energies that the law has; without one, that of the robot."""
        if not self.control:
            return BASE if self.is_moving_base else TASK
        return split_of_law(self.control.__getitem__, self.is_moving_base)

    @property
    def law_energies(self) -> Series:
        """The energy of the closed loop in parts, J; empty without a controller."""
        return parts_of_law(self.control.__getitem__, self.split) if self.control else {}

    @property
    def robot_energies(self) -> Series:
        """The energy of the robot in parts, J, split as that of the law."""
        return parts_of_robot(self.energy.__getitem__, self.split)

    @property
    def port_energies(self) -> Series:
        """Energy that has crossed each port since the audit began, J; positive into the robot."""
        return {port: self.power[f"{port}_energy"] for port in self.ports}

    @property
    def port_powers(self) -> Series:
        """Power at each port, W; positive into the robot."""
        return {port: self.power[port] for port in self.ports}

    @property
    def largest_residual(self) -> float:
        """Largest size of the power-balance residual, W."""
        return float(np.abs(self.power["residual"]).max(initial=0.0))

    @property
    def seconds(self) -> float:
        """Time from the first to the last energy message, s."""
        return float(self.energy["time"][-1])


def read_run(bag: Path, namespace: str = "") -> RunRecord:
    """Read a recorded run from a bag, also with earlier names.

    Args:
        bag: path of the bag, which may be truncated.
        namespace: namespace of the robot's topics.

    Raises:
        VmsPhError: no bag, or a bag without energy and power.
    """
    prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    table_of_topic = {prefix + topic: name for topic, name in _TOPICS.items()}
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in _TOPICS.values()}
    frame = ""
    for message in Messages(bag).on_topics(table_of_topic):
        content, name = decode(message), table_of_topic[message.topic]
        if content is not None:
            rows[name].append(_scalars(content))
            frame = frame or (content.header.frame_id if name == "energy" else "")
    if not rows["energy"] or not rows["power"]:
        raise VmsPhError(
            f"{bag} contains no {prefix}vms_ph/energy and {prefix}vms_ph/power; record them with "
            "the energy_monitor node running"
        )
    run_starts = {name: _run_starts(table) for name, table in rows.items()}
    rows = {name: table[run_starts[name][-1] :] for name, table in rows.items()}
    tables = {name: _table(table, rows["energy"][0]["time"]) for name, table in rows.items()}
    repeats = len(run_starts["energy"])
    return RunRecord(bag.name, tables["energy"], tables["power"], tables["control"], frame, repeats)


def _run_starts(rows: list[dict[str, float]]) -> list[int]:
    """Return where a table begins and where its time goes back."""
    times = [row["time"] for row in rows]
    return [0, *(k for k in range(1, len(times)) if times[k] < times[k - 1] - _RESTART_JUMP_NS)]


def _scalars(message: Any) -> dict[str, float]:
    stamp = message.header.stamp
    # In integer nanoseconds: a float of seconds since 1970 resolves only a quarter microsecond.
    scalars: dict[str, float] = {"time": stamp.sec * 10**9 + stamp.nanosec}
    for name in message.__dataclass_fields__:
        value = getattr(message, name)
        if isinstance(value, (int, float)) and not name.isupper():
            scalars[name] = value
    tools = (getattr(message, f"tool_{key}", ()) for key in ("names", "power", "energy"))
    for name, power, energy in zip(*tools, strict=False):
        scalars[name], scalars[f"{name}_energy"] = power, energy
    return scalars


def _table(rows: list[dict[str, float]], start: float) -> Series:
    if not rows:
        return {}
    # A tool port may appear later; its power and energy were zero before.
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: np.array([row.get(name, 0.0) for row in rows], dtype=float) for name in names}
    columns["time"] = np.array([(row["time"] - start) * 1e-9 for row in rows])
    return columns


def report(run: RunRecord) -> Iterator[str]:
    """Return the lines of the report; the parts of a sum are indented and add up to it."""
    run_note = f", the last of {run.repeats} runs" if run.repeats > 1 else ""
    yield f"recorded  {run.seconds:.2f} s, {len(run.energy['time'])} energy messages{run_note}"
    yield "energy balance, from the start to the end"
    yield from _sum_lines("stored", run.power["stored"][-1], balance(run))
    yield "energy of the robot, at the end"
    final_energies = {name: values[-1] for name, values in run.robot_energies.items()}
    yield from _sum_lines("total", run.energy["total"][-1], final_energies)
    if run.control:
        yield "energy of the closed loop, at the end"
        # The law may report for longer.
        k = max(int(np.searchsorted(run.control["time"], run.energy["time"][-1], "right")), 1) - 1
        final_energies = {name: values[k] for name, values in run.law_energies.items()}
        yield from _sum_lines("total", run.control["closed_loop_energy"][k], final_energies)
    yield f"largest power-balance residual  {run.largest_residual:.3e} W"
    yield f"unaccounted energy                {run.unaccounted_energy:+.3e} J"


def balance(run: RunRecord) -> dict[str, float]:
    """Return the parts of the stored energy, J: supplied by ports, dissipated, unaccounted."""
    parts = {port: run.port_energies[port][-1] for port in run.shown_ports}
    parts["dissipated"] = -run.power["dissipated_energy"][-1]
    parts["unaccounted"] = run.unaccounted_energy
    return {name: float(value) for name, value in parts.items()}


def _sum_lines(name: str, total: float, parts: dict[str, float]) -> Iterator[str]:
    yield f"  {name:<22}{_format_energy(total)}"
    for part_name, energy in parts.items():
        yield f"    {label_of(part_name):<20}{_format_energy(energy)}"


def _format_energy(value: float) -> str:
    # Zero has no sign of its own.
    return f"{round(value, 6) + 0.0:+.6f} J" if np.isfinite(value) else "not defined"
