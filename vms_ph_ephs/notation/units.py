# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers with units, as in ``"1500 mA h"``, in SI."""

from collections.abc import Mapping
from math import isfinite, pi
from typing import Any

from ..errors import PatternError

_FACTORS: Mapping[str, Mapping[str, float]] = {
    "C": {"A h": 3600.0, "mA h": 3.6},
    "ohm": {"mohm": 1e-3},
    "H": {"mH": 1e-3, "uH": 1e-6},
    "kg": {"g": 1e-3},
    "m": {"cm": 1e-2, "mm": 1e-3},
    "m^2": {"cm^2": 1e-4},
    "rad": {"deg": pi / 180.0},
    "kg m^2": {"kg cm^2": 1e-4, "g cm^2": 1e-7},
    "N m": {"mN m": 1e-3},
    "N m/A": {"mN m/A": 1e-3, "V s/rad": 1.0},
}


def number(value: Any, unit: str, what: str) -> float:
    """Return a number in SI: of a number, or of a text with a unit.

    Args:
        value: as a file gives it.
        unit: SI unit of the parameter; several are separated by ``or``; empty for none.
        what: for the error.

    Raises:
        PatternError: it is no finite number, or has a unit that is not accepted.
    """
    found = _converted(value, unit)
    if found is None or not isfinite(found):
        units = unit.split(" or ") if unit else []
        units += [each for own in list(units) for each in _FACTORS.get(own, {})]
        units += ["degC"] if unit == "K" else []
        units += ["rpm/V"] if unit == "N m/A" else []
        accepted = f", perhaps with one of the units {', '.join(units)}" if units else ""
        raise PatternError(f"{what} must be a finite number{accepted}; given: {value!r}")
    return found


def _converted(value: Any, unit: str) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    words = str(value).split(maxsplit=1)
    try:
        size = float(words[0])
    except (ValueError, IndexError):
        return None
    if len(words) == 1:
        return size
    for own in unit.split(" or "):
        if words[1] == own:
            return size
        if words[1] in _FACTORS.get(own, {}):
            return size * _FACTORS[own][words[1]]
    if unit == "K" and words[1] == "degC":
        return size + 273.15
    if unit == "N m/A" and words[1] == "rpm/V" and size > 0.0:
        return 30.0 / (pi * size)
    return None
