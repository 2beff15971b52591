# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names of quantities and kinds, and numbers with units, as in ``"1500 mA h"``, in SI."""

from collections.abc import Callable, Mapping
from math import isfinite, pi
from typing import Any

from ..errors import PatternError
from ..multibody.pairs import Cylindrical, LowerPair, Planar, Prismatic, Revolute, Screw, Spherical
from ..patterns import Port
from ..quantities import (
    SE2_SPACE,
    SE3_SPACE,
    SO3_SPACE,
    SO3_TIMES_R3_SPACE,
    Euclidean,
    Quantity,
    Space,
    charge,
    displacement,
    entropy,
    flux,
    momentum,
    momentum_of,
    pose_of,
    relative_pose_of,
    signal,
)

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


def parse_number(value: Any, unit: str, label: str) -> float:
    """Return a number in SI: of a number, or of a text with a unit.

    Args:
        value: as a file gives it.
        unit: SI unit of the parameter; several are separated by ``or``; empty for none.
        label: for the error.

    Raises:
        PatternError: it is no finite number, or has a unit that is not accepted.
    """
    si_value = _si_value(value, unit)
    if si_value is None or not isfinite(si_value):
        units = unit.split(" or ") if unit else []
        units += [multiple for base_unit in list(units) for multiple in _FACTORS.get(base_unit, {})]
        units += ["degC"] if unit == "K" else []
        units += ["rpm/V"] if unit == "N m/A" else []
        accepted = f", perhaps with one of the units {', '.join(units)}" if units else ""
        raise PatternError(f"{label} must be a finite number{accepted}; given: {value!r}")
    return si_value


def _si_value(value: Any, unit: str) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    words = str(value).split(maxsplit=1)
    try:
        magnitude = float(words[0])
    except (ValueError, IndexError):
        return None
    if len(words) == 1:
        return magnitude
    for alternative in unit.split(" or "):
        if words[1] == alternative:
            return magnitude
        if words[1] in _FACTORS.get(alternative, {}):
            return magnitude * _FACTORS[alternative][words[1]]
    if unit == "K" and words[1] == "degC":
        return magnitude + 273.15
    if unit == "N m/A" and words[1] == "rpm/V" and magnitude > 0.0:
        return 30.0 / (pi * magnitude)
    return None


_SCALAR_QUANTITIES = {q.name: q for q in (displacement, momentum, entropy, charge, flux, signal)}
_QUANTITY_MAKERS: Mapping[str, Callable[[Space], Quantity]] = {
    "momentum": momentum_of,
    "pose": pose_of,
    "relative_pose": relative_pose_of,
}
_PAIRS: Mapping[str, Callable[[], LowerPair]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
    "cylindrical": Cylindrical,
    "planar": Planar,
    "spherical": Spherical,
}
_SPACES = {s.name: s for s in (SE3_SPACE, SE2_SPACE, SO3_SPACE, SO3_TIMES_R3_SPACE)}


def parse_pair(text: Any) -> LowerPair:
    """Return the pair of a text such as ``"revolute"`` or ``"screw 0.01"`` (pitch, m per turn).

    Raises:
        PatternError: there is none.
    """
    words = str(text).split()
    if len(words) == 1 and words[0] in _PAIRS:
        return _PAIRS[words[0]]()
    if len(words) == 2 and words[0] == "screw":
        try:
            return Screw(float(words[1]))
        except ValueError:
            pass
    raise PatternError(
        f"a pair must be one of {', '.join(_PAIRS)} or 'screw PITCH' with metres per turn; given: "
        f"{text!r}"
    )


def pair_name(pair: Space) -> str:
    """Return the text of a pair.

    Raises:
        PatternError: it is a user-defined pair, which has no name in files.
    """
    for name, make in _PAIRS.items():
        if type(pair) is make:
            return name
    if type(pair) is Screw:
        pitch = pair.name.removeprefix("screw pair of pitch ").removesuffix(" m")
        return f"screw {pitch}"
    raise PatternError(f"{pair} has no name in files; those that have are {', '.join(_PAIRS)}")


def parse_quantity(text: Any) -> Quantity:
    """Return the quantity of a text such as ``"entropy"`` or ``"momentum SE(3)"``.

    Raises:
        PatternError: there is none.
    """
    words = str(text).split()
    if len(words) == 1 and words[0] in _SCALAR_QUANTITIES:
        return _SCALAR_QUANTITIES[words[0]]
    if len(words) > 1 and words[0] in _QUANTITY_MAKERS:
        return _QUANTITY_MAKERS[words[0]](_parse_space(" ".join(words[1:]), text))
    raise PatternError(
        f"a quantity must be one of {', '.join(_SCALAR_QUANTITIES)}, or one of "
        f"{', '.join(_QUANTITY_MAKERS)} with a space, as 'momentum SE(3)' or "
        f"'relative_pose revolute'; given: {text!r}"
    )


def quantity_name(quantity: Quantity) -> str:
    """Return the text of a quantity.

    Raises:
        PatternError: it has none.
    """
    for name, scalar in _SCALAR_QUANTITIES.items():
        if quantity == scalar:
            return name
    space = quantity.space
    primal_space = getattr(space, "primal", None)
    if quantity.name in _QUANTITY_MAKERS:
        named = primal_space if quantity.name == "momentum" and primal_space is not None else space
        return f"{quantity.name} {space_name(named)}"
    raise PatternError(f"the quantity {quantity} has no name in files")


def parse_port(text: Any) -> Port:
    """Return the port of a text: a quantity, with ``state`` before it for a state port.

    Raises:
        PatternError: there is no such quantity.
    """
    words = str(text).split(maxsplit=1)
    if len(words) == 2 and words[0] in ("state", "power"):
        return Port(parse_quantity(words[1]), "state" if words[0] == "state" else "power")
    return Port(parse_quantity(text))


def port_name(port: Port) -> str:
    """Return the text of a port."""
    name = quantity_name(port.quantity)
    return name if port.kind == "power" else f"state {name}"


def _parse_space(name: str, text: Any) -> Space:
    if name in _SPACES:
        return _SPACES[name]
    if name == "R":
        return Euclidean(1)
    is_decimal = name.removeprefix("R^").isdecimal() and len(name) <= 5
    if name.startswith("R^") and is_decimal and int(name[2:]) > 1:
        return Euclidean(int(name[2:]))
    try:
        return parse_pair(name)
    except PatternError:
        raise PatternError(
            f"the space of a quantity must be one of {', '.join(_SPACES)}, R^n or a pair "
            f"({', '.join(_PAIRS)}, screw PITCH); given: {text!r}"
        ) from None


def space_name(space: Space) -> str:
    """Return the text of a space: its name, or that of a pair."""
    if space.name in _SPACES or type(space) is Euclidean:
        return space.name
    return pair_name(space)
