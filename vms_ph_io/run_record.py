"""A recorded run as time series."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import VmsPhError

from .bag import BagReader

Series = Mapping[str, Array]
"""Columns by the name of the field; ``time`` in s since the first energy message."""

_TOPICS = {"vms_ph/energy": "energy", "vms_ph/power": "power", "controller/state": "control"}


@dataclass(frozen=True)
class RunRecord:
    """What a bag holds of energy, power and control; each a table of equal columns.

    Attributes:
        name: of the bag.
        energy: the fields of vms_ph/msg/Energy.
        power: the fields of vms_ph/msg/Power.
        control: the fields of vms_ph/msg/ControllerState; empty where none was recorded.
    """

    name: str
    energy: Series
    power: Series
    control: Series

    @property
    def unaccounted_energy(self) -> float:
        """Energy from nowhere over the whole run, J."""
        return float(self.power["unaccounted_energy"][-1])

    @property
    def largest_residual(self) -> float:
        """Largest size of the power-balance residual, W."""
        return float(np.abs(self.power["residual"]).max())

    @property
    def seconds(self) -> float:
        """From the first energy message to the last, s."""
        return float(self.energy["time"][-1])


def read_run(bag: Path, namespace: str = "") -> RunRecord:
    """Read a bag of one of our robots.

    Args:
        bag: the folder; it may have been cut off.
        namespace: of the robot's topics.

    Raises:
        VmsPhError: no bag, or one without energy and power in it.
    """
    prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
    names = {prefix + topic: table for topic, table in _TOPICS.items()}
    rows: dict[str, list[dict[str, float]]] = {table: [] for table in _TOPICS.values()}
    for message in BagReader(bag).messages(names):
        rows[names[message.topic]].append(_scalars(message.decode()))
    if not rows["energy"] or not rows["power"]:
        raise VmsPhError(
            f"{bag} holds no {prefix}vms_ph/energy and {prefix}vms_ph/power; record them with the "
            "energy_monitor node running"
        )
    start = rows["energy"][0]["time"]
    tables = {name: _table(table, start) for name, table in rows.items()}
    return RunRecord(bag.name, tables["energy"], tables["power"], tables["control"])


def _scalars(message: Any) -> dict[str, float]:
    stamp = message.header.stamp
    # Whole nanoseconds: a float of seconds since 1970 would keep a quarter of a microsecond.
    values: dict[str, float] = {"time": stamp.sec * 10**9 + stamp.nanosec}
    for name in message.__dataclass_fields__:
        value = getattr(message, name)
        if isinstance(value, (int, float)) and not name.isupper():
            values[name] = value
    return values


def _table(rows: list[dict[str, float]], start: float) -> Series:
    if not rows:
        return {}
    columns = {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}
    columns["time"] = np.array([(row["time"] - start) * 1e-9 for row in rows])
    return columns
