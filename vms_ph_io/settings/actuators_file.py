# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators of robots: rotors, thrusters, wheels, casters and reaction wheels, from YAML files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vms_ph_dynamics.arrays import Array, vector
from vms_ph_dynamics.errors import ModelError, StateError

from .yaml_files import check_keys, items, moderate, number, read_mapping

if TYPE_CHECKING:
    from vms_ph_dynamics.actuation.actuators import Actuator, Motor, Tilt
    from vms_ph_dynamics.actuation.allocation import Actuators

_ROTOR = ("thrust_constant", "loss_ratio", "time_constant", "dead_zone", "inertia")
SECTIONS = ("rotors", "thrusters", "wheels", "casters", "reaction_wheels")
"""Kinds of actuators, each a list of entries."""

_TOP = ("base", "weights", "thrust", "drag_ratio", "defaults", *SECTIONS)


def load_actuators(path: str | Path) -> "Actuators":
    """Return the actuators in a file; docs/actuators.md describes its entries.

    Raises:
        VmsPhError: no such file.
        ModelError: the file is not valid; the message names the entry and states what is accepted.
    """
    return actuators_in(read_mapping(path), f"{path} is not a valid file of actuators", "the file")


def actuators_in(content: Mapping[str, Any], wrong: str, origin: str) -> "Actuators":
    """Return the actuators of the entries of a file, or of an element with the same ones.

    Args:
        content: the entries.
        wrong: how the message begins where they are not valid.
        origin: what has the entries, in messages.

    Raises:
        ModelError: they are not valid; the message names the entry and states what is accepted.
    """
    from vms_ph_dynamics.actuation.allocation import Actuators

    try:
        check_keys(content, origin, (), _TOP)
        actuators = [
            one for section in SECTIONS if section in content for one in _section(section, content)
        ]
        if not actuators:
            raise ModelError(f"{origin} has none of {', '.join(SECTIONS)}")
        base, weights = str(content.get("base", "floating")), content.get("weights")
        size = {"floating": 6, "planar": 3}.get(base, 6)
        return Actuators(
            actuators, base, None if weights is None else _vector(weights, size, "weights")
        )
    except (ModelError, StateError) as error:
        raise ModelError(f"{wrong}: {error}") from None


def _section(section: str, content: Mapping[str, Any]) -> list["Actuator"]:
    defaults = content.get("defaults") or {}
    check_keys(defaults, "defaults", (), SECTIONS)
    common = defaults.get(section) or {}
    if not isinstance(common, Mapping):
        raise ModelError(f"defaults: {section} must be a mapping; given: {common!r}")
    if section == "rotors":
        top = {name: content[name] for name in ("thrust", "drag_ratio") if name in content}
        common = {**top, **common}
    one, kind = section[:-1].replace("_", " "), _KINDS[section]
    actuators = []
    for i, item in enumerate(items(content[section], section)):
        if not isinstance(item, Mapping):
            raise ModelError(f"{one} {i} must be a mapping; given: {item!r}")
        actuators.append(kind({**common, **item}, f"{one} {i}"))
    return actuators


def _rotor(item: Mapping[str, Any], name: str) -> "Actuator":
    from vms_ph_dynamics.actuation.actuators import Rotor

    check_keys(item, name, ("position", "thrust"), (*_PLACED, "drag_ratio", "torque_sign", *_ROTOR))
    lower, upper = _vector(item["thrust"], 2, f"thrust of {name}")
    ratio = _optional(item, "drag_ratio", name) or 0.0
    if "torque_sign" in item:
        sign = number(item["torque_sign"], f"torque_sign of {name}")
        if sign not in (-1.0, 1.0):
            raise ModelError(f"torque_sign of {name} must be 1 or -1; given: {sign:g}")
        ratio *= sign
    return Rotor(
        _vector(item["position"], 3, f"position of {name}"),
        _axis(item, name),
        ratio,
        float(lower),
        float(upper),
        tilt=_tilt(item.get("tilt"), name),
        motor=_motor(item, name),
        **_numbers(item, _ROTOR, name),
    )


def _wheel(item: Mapping[str, Any], name: str) -> "Actuator":
    from vms_ph_dynamics.actuation.actuators import Wheel

    optional = ("roller_angle", "largest_torque", "largest_rate", "friction")
    check_keys(item, name, ("position", "heading", "radius"), (*optional, "motor"))
    return Wheel(
        _vector(item["position"], 2, f"position of {name}"),
        motor=_motor(item, name),
        **_numbers(item, ("heading", "radius", *optional), name),
    )


def _caster(item: Mapping[str, Any], name: str) -> "Actuator":
    from vms_ph_dynamics.actuation.actuators import Caster

    optional = ("angle", "largest_torque", "largest_steering_torque", "friction")
    check_keys(item, name, ("position", "radius", "trail"), (*optional, "motor"))
    return Caster(
        _vector(item["position"], 2, f"position of {name}"),
        motor=_motor(item, name),
        **_numbers(item, ("radius", "trail", *optional), name),
    )


def _reaction_wheel(item: Mapping[str, Any], name: str) -> "Actuator":
    from vms_ph_dynamics.actuation.actuators import ReactionWheel

    optional = ("largest_torque", "largest_rate", "rate", "friction")
    check_keys(item, name, ("axis", "inertia"), (*optional, "motor"))
    return ReactionWheel(
        _vector(item["axis"], 3, f"axis of {name}"),
        motor=_motor(item, name),
        **_numbers(item, ("inertia", *optional), name),
    )


_PLACED = ("axis", "orientation", "tilt", "motor")
_KINDS: dict[str, Callable[[Mapping[str, Any], str], "Actuator"]] = {
    "rotors": _rotor,
    "thrusters": _rotor,
    "wheels": _wheel,
    "casters": _caster,
    "reaction_wheels": _reaction_wheel,
}


def _axis(item: Mapping[str, Any], name: str) -> Array:
    """Return the direction of a thrust: the axis, or z of the orientation."""
    if ("axis" in item) == ("orientation" in item):
        raise ModelError(f"{name} must have either 'axis' or 'orientation'")
    if "axis" in item:
        return _vector(item["axis"], 3, f"axis of {name}")
    import pinocchio as pin

    from vms_ph_dynamics.robot.joints import NORM_TOLERANCE

    orientation = _vector(item["orientation"], 4, f"orientation of {name}")
    length = float(orientation @ orientation) ** 0.5
    if abs(length - 1.0) > NORM_TOLERANCE:
        raise ModelError(
            f"the orientation of {name} must be a quaternion [x y z w] of length 1; its length is "
            f"{length:.9g}"
        )
    return np.asarray(pin.Quaternion(orientation).toRotationMatrix()[:, 2])


def _tilt(value: Any, name: str) -> "Tilt | None":
    from vms_ph_dynamics.actuation.actuators import Tilt

    if value is None:
        return None
    check_keys(value, f"tilt of {name}", ("axis", "limits"), ("rate",))
    lower, upper = _vector(value["limits"], 2, f"limits of the tilt of {name}")
    axis = _vector(value["axis"], 3, f"axis of the tilt of {name}")
    return Tilt(
        axis, float(lower), float(upper), **_numbers(value, ("rate",), f"the tilt of {name}")
    )


def _motor(item: Mapping[str, Any], name: str) -> "Motor":
    from vms_ph_dynamics.actuation.actuators import Motor

    value = item.get("motor") or {}
    check_keys(value, f"motor of {name}", (), ("torque_constant", "resistance"))
    return Motor(**_numbers(value, ("torque_constant", "resistance"), f"the motor of {name}"))


def _numbers(item: Mapping[str, Any], names: tuple[str, ...], owner: str) -> dict[str, Any]:
    return {name: number(item[name], f"{name} of {owner}") for name in names if name in item}


def _vector(value: Any, size: int, name: str) -> Array:
    return moderate(vector(value, size, name), name)


def _optional(item: Mapping[str, Any], name: str, owner: str) -> float | None:
    return number(item[name], f"{name} of {owner}") if name in item else None
