# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The column map: which columns of a file are times, positions, velocities and efforts.

See docs/audit.md for the keys. Without a map the columns are ``time``, ``position.<joint>``,
``velocity.<joint>`` and ``effort.<joint>`` in SI units.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import pi
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, ModelError, StateError

from ..settings.bounded_text import read_yaml
from ..settings.yaml_files import check_keys, mapping, number, numbers
from .recording import RecordingError

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
UNITS = TIME_UNITS | {
    "rad": 1.0, "deg": pi / 180, "mrad": 1e-3, "rev": 2 * pi, "m": 1.0, "mm": 1e-3, "cm": 1e-2,
    "rad/s": 1.0, "deg/s": pi / 180, "mrad/s": 1e-3, "rev/s": 2 * pi, "rpm": pi / 30, "m/s": 1.0,
    "mm/s": 1e-3, "N m": 1.0, "Nm": 1.0, "N": 1.0, "mN m": 1e-3, "mNm": 1e-3, "kN": 1e3, "A": 1.0,
    "mA": 1e-3,
}  # fmt: skip
"""Accepted units and their size in SI units."""

JOINT_QUANTITIES = ("position", "velocity", "effort")
STAMP = ("sec", "nanosec")
"""Columns that together are the time of a message."""
WRENCH_PREFIX = "wrench "
"""Before the frame in the name of the quantity of a wrench."""

BASE_SIZES = {
    "base_position": 3, "base_quaternion": 4, "base_linear_velocity": 3, "base_angular_velocity": 3,
}  # fmt: skip
_KEYS = ("joints", "time", "rate", "header", "delimiter", "skip", *JOINT_QUANTITIES, *BASE_SIZES,
         "wrenches", "couplings")  # fmt: skip
_ENTRY_KEYS = ("columns", "unit", "gain", "offset", "file", "array", "interleaved")

Columns = tuple[str | int, ...]


@dataclass(frozen=True)
class Quantity:
    """Where one quantity is found.

    Attributes:
        columns: names, or numbers from 1, of its columns; empty for an array that has them all.
        scale: factor from the file to SI units: the size of the unit times the gain, one number or
            one for each column.
        offset: number added to the column after its factor, in SI units, likewise.
        file: a file of its own beside the map, or empty.
        array: name of an array of an NPZ or MAT file, or empty.
        interleaved: whether the file has one number a line, the columns one after the other.
    """

    columns: Columns = ()
    scale: Array | float = 1.0
    offset: Array | float = 0.0
    file: str = ""
    array: str = ""
    interleaved: bool = False


@dataclass(frozen=True)
class ColumnMap:
    """Where the quantities of a recording are found.

    Attributes:
        folder: folder of the map, to which files are relative.
        joints: names of the joints, in the order of the columns; empty: from names of columns.
        quantities: by name; ``time``, those of :data:`JOINT_QUANTITIES` and of the base, and
            wrenches by their frame after :data:`WRENCH_PREFIX`.
        rate: Hz, where there is no time; else zero.
        header: whether the first line has names; None: if it is no row of numbers.
        delimiter: between columns; empty: a comma, semicolon, tab or blanks, as the file has it.
        skip: lines before the header.
        couplings: by joint, the joints of whose columns a share is added to its own, where one
            motor moves several joints.
    """

    folder: Path
    joints: tuple[str, ...]
    quantities: Mapping[str, Quantity]
    rate: float = 0.0
    header: bool | None = None
    delimiter: str = ""
    skip: int = 0
    couplings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def coupling(self, joints: Sequence[str]) -> Array:
        """Return the factors (n, n) that give the positions of joints from their columns.

        Raises:
            RecordingError: a coupled joint is none of these, or the positions do not give columns.
        """
        names = {name for joint, shares in self.couplings.items() for name in (joint, *shares)}
        if unknown_names := sorted(names - set(joints)):
            text = f"couplings names {', '.join(unknown_names)}; the joints are {', '.join(joints)}"
            raise RecordingError(text)
        rows = [[self.couplings.get(row, {}).get(motor, 0.0) for motor in joints] for row in joints]
        factors = np.eye(len(joints)) + np.array(rows)
        if np.linalg.cond(factors) > 1e6:
            text = "with these couplings positions of the joints do not give those of the motors"
            raise RecordingError(text)
        return factors

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said, so that columns are found by their names."""
        return not (self.quantities or self.joints or self.rate)


def read_map(path: Path) -> ColumnMap:
    """Return the column map in a YAML file.

    Raises:
        VmsPhError: the file cannot be read, or has an unknown key or a wrong value.
    """
    content = read_yaml(path)
    try:
        check_keys(content, "the map", (), _KEYS)
        joints = tuple(map(str, _list(content.get("joints", ()), "joints")))
        sizes = {"time": 0, **dict.fromkeys(JOINT_QUANTITIES, len(joints)), **BASE_SIZES}
        given_names = [name for name in sizes if name in content]
        quantities = {name: _quantity(content[name], sizes[name], name) for name in given_names}
        for frame, entry in mapping(content.get("wrenches") or {}, "wrenches", "columns").items():
            quantities[f"{WRENCH_PREFIX}{frame}"] = _quantity(entry, 6, str(frame))
        rate = number(content.get("rate", 0.0), "rate")
        skip = int(number(content.get("skip", 0), "skip"))
        header, delimiter = content.get("header"), str(content.get("delimiter") or "")
        couplings = mapping(content.get("couplings") or {}, "couplings", "shares of joints")
        couplings = {str(j): numbers(x, f"the coupling of {j}") for j, x in couplings.items()}
        return ColumnMap(path.parent, joints, quantities, rate, header, delimiter, skip, couplings)
    except (ModelError, StateError) as error:
        raise RecordingError(f"{path}: {error}") from None


def _quantity(entry: Any, size: int, name: str) -> Quantity:
    """Return a quantity given as columns, or with further keys."""
    fields = entry if isinstance(entry, dict) else {"columns": entry}
    if "rate" in fields:
        raise ModelError(f"rate is a key of the map, not of {name}: in place of time, rate: 500")
    check_keys(fields, name, (), _ENTRY_KEYS)
    columns = tuple(_column(c, name) for c in _list(fields.get("columns", ()), name))
    if columns and size and len(columns) != size:
        raise ModelError(f"{name} must have {size} columns; given: {len(columns)}")
    accepted_units = [unit for unit in UNITS if (unit in TIME_UNITS) == (name == "time")]
    units = [str(unit) for unit in _list(fields.get("unit", accepted_units[0]), name)]
    if wrong_units := [unit for unit in units if unit not in accepted_units]:
        text = f"'{wrong_units[0]}' is no unit of {name}; accepted are {', '.join(accepted_units)}"
        raise ModelError(text)
    count = len(columns) or size
    factors, offsets = (
        [number(value, f"the {key} of {name}") for value in _list(fields.get(key, default), name)]
        for key, default in (("gain", 1.0), ("offset", 0.0))
    )
    for key, values in (("unit", units), ("gain", factors), ("offset", offsets)):
        if len(values) not in (1, count or len(values)):
            raise ModelError(f"{name} must have one {key}, or {count}; given: {len(values)}")
    file, array = (str(fields.get(key) or "") for key in ("file", "array"))
    scale = np.array([UNITS[unit] for unit in units]) * np.array(factors)
    interleaved = bool(fields.get("interleaved", False))
    return Quantity(columns, scale, np.array(offsets), file, array, interleaved)


def _column(value: Any, name: str) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == 0:
        raise ModelError(f"columns of {name} must be names, or numbers from 1; given: {value!r}")
    return value


def _list(value: Any, name: str) -> Sequence[Any]:
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, (str, int, float)):
        return [value]
    raise ModelError(f"{name} must be a value or a list; given: {value!r}")
