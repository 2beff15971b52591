# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators of robots: rotors, thrusters, wheels, casters and reaction wheels.

They are read from YAML files, or from the element ``<vms_ph_actuators>`` of a URDF with the entries
of such a file. Readers of URDF pass over elements that they do not know, and xacro leaves them.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, ModelError, Rotor, StateError
from vms_ph_dynamics.actuation.actuators import Actuator, Caster, Motor, ReactionWheel, Tilt, Wheel
from vms_ph_dynamics.actuation.allocation import Actuators
from vms_ph_dynamics.robot.joints import NORM_TOLERANCE

from .yaml_files import Reader, check_keys, fields_of, items, number, read_mapping, vector_of

SECTIONS = ("rotors", "thrusters", "wheels", "casters", "reaction_wheels")
"""Kinds of actuators, each a list of entries."""

_TOP_KEYS = ("base", "weights", "thrust", "drag_ratio", "defaults", *SECTIONS)


def load_actuators(path: str | Path) -> Actuators:
    """Return the actuators in a file; docs/actuators.md describes its entries.

    Raises:
        VmsPhError: no such file.
        ModelError: the file is not valid; the message names the entry and states what is accepted.
    """
    return actuators_in(read_mapping(path), f"{path} is not a valid file of actuators", "the file")


def actuators_in(content: Mapping[str, Any], prefix: str, origin: str) -> Actuators:
    """Return the actuators of the entries of a file, or of an element with the same ones.

    Args:
        content: the entries.
        prefix: how the message begins where they are not valid.
        origin: name of what has the entries, in messages.

    Raises:
        ModelError: they are not valid; the message names the entry and states what is accepted.
    """
    try:
        check_keys(content, origin, (), _TOP_KEYS)
        sections = filter(content.__contains__, SECTIONS)
        actuators = [actuator for section in sections for actuator in _actuators(section, content)]
        if not actuators:
            raise ModelError(f"{origin} has none of {', '.join(SECTIONS)}")
        base, weights = str(content.get("base", "floating")), content.get("weights")
        size = {"floating": 6, "planar": 3}.get(base, 6)
        weights = None if weights is None else vector_of(size)(weights, "weights")
        return Actuators(actuators, base, weights)
    except (ModelError, StateError) as error:
        raise ModelError(f"{prefix}: {error}") from None


def _actuators(section: str, content: Mapping[str, Any]) -> list[Actuator]:
    defaults = content.get("defaults") or {}
    check_keys(defaults, "defaults", (), SECTIONS)
    common_entries = defaults.get(section) or {}
    if not isinstance(common_entries, Mapping):
        raise ModelError(f"defaults: {section} must be a mapping; given: {common_entries!r}")
    if section == "rotors":
        rotor_terms = {name: content[name] for name in ("thrust", "drag_ratio") if name in content}
        common_entries = {**rotor_terms, **common_entries}
    kind_name, constructor = section[:-1].replace("_", " "), _CONSTRUCTORS[section]
    actuators = []
    for index, entry in enumerate(items(content[section], section)):
        if not isinstance(entry, Mapping):
            raise ModelError(f"{kind_name} {index} must be a mapping; given: {entry!r}")
        actuators.append(constructor({**common_entries, **entry}, f"{kind_name} {index}"))
    return actuators


def _rotor(item: Mapping[str, Any], name: str) -> Actuator:
    names = [f.name for f in fields(Rotor) if f.name not in ("position", "lower", "upper")]
    check_keys(item, name, ("position", "thrust"), (*names, *_FILE_KEYS[1:]))
    entries = {key: value for key, value in item.items() if key not in _FILE_KEYS}
    readers = {"tilt": _tilt, **_MOTOR_READERS}
    values = fields_of(Rotor, entries, name, readers, names=("position", *names))
    values["lower"], values["upper"] = vector_of(2)(item["thrust"], f"thrust of {name}").tolist()
    values["axis"] = _axis(values.get("axis"), item.get("orientation"), name)
    if "torque_sign" in item:
        sign = number(item["torque_sign"], f"torque_sign of {name}")
        if sign not in (-1.0, 1.0):
            raise ModelError(f"torque_sign of {name} must be 1 or -1; given: {sign:g}")
        values["drag_ratio"] = sign * values.get("drag_ratio", 0.0)
    return Rotor(**values)


def _axis(axis: Array | None, orientation: Any, name: str) -> Array:
    """Return the direction of a thrust: the axis, or z of the orientation."""
    if (axis is None) == (orientation is None):
        raise ModelError(f"{name} must have either 'axis' or 'orientation'")
    if axis is not None:
        return axis
    quaternion = vector_of(4)(orientation, f"orientation of {name}")
    length = float(quaternion @ quaternion) ** 0.5
    if abs(length - 1.0) > NORM_TOLERANCE:
        raise ModelError(
            f"the orientation of {name} must be a quaternion [x y z w] of length 1; its length is "
            f"{length:.9g}"
        )
    return np.asarray(pin.Quaternion(quaternion).toRotationMatrix()[:, 2])


def _tilt(tilt_entries: Any, name: str) -> Tilt:
    check_keys(tilt_entries, name, ("axis", "limits"), ("rate",))
    entries = {key: entry for key, entry in tilt_entries.items() if key != "limits"}
    lower, upper = vector_of(2)(tilt_entries["limits"], f"limits of {name}").tolist()
    return Tilt(lower=lower, upper=upper, **fields_of(Tilt, entries, name, names=("axis", "rate")))


_FILE_KEYS = ("thrust", "orientation", "torque_sign")  # keys of a rotor that are no fields
_CONSTRUCTORS: dict[str, Callable[[Mapping[str, Any], str], Actuator]] = {
    "rotors": _rotor,
    "thrusters": _rotor,
    "wheels": lambda item, name: Wheel(**fields_of(Wheel, item, name, _FLOOR_READERS)),
    "casters": lambda item, name: Caster(**fields_of(Caster, item, name, _FLOOR_READERS)),
    "reaction_wheels": lambda item, name: ReactionWheel(
        **fields_of(ReactionWheel, item, name, _MOTOR_READERS)
    ),
}
_MOTOR_READERS: Mapping[str, Reader] = {
    "motor": lambda value, name: Motor(**fields_of(Motor, value or {}, name))
}
_FLOOR_READERS: Mapping[str, Reader] = {"position": vector_of(2), **_MOTOR_READERS}


TAG = "vms_ph_actuators"

_TAGS = {section[:-1]: section for section in SECTIONS}


def actuators_of_urdf(description: str) -> Actuators | None:
    """Return the actuators in the text of a URDF, or None where it has none.

    Args:
        description: the text, after xacro.

    Raises:
        ModelError: they are not valid; the message names the entry and states what is accepted.
    """
    try:
        root = ET.fromstring(description)
    except ET.ParseError as error:
        raise ModelError(f"the description is not XML: {error}") from None
    if not (elements := root.findall(TAG)):
        return None
    subject = f"<{TAG}> of '{root.get('name', '')}'"
    if len(elements) > 1:
        raise ModelError(
            f"{subject} must stand once in a description; it stands {len(elements)} times"
        )
    try:
        content = _file_content(elements[0])
    except ModelError as error:
        raise ModelError(f"{subject} is not valid: {error}") from None
    return actuators_in(content, f"{subject} is not valid", "the element")


def _file_content(element: ET.Element) -> dict[str, Any]:
    """Return an element as the content of a YAML file."""
    content = _attributes(element)
    for child in element:
        if child.tag == "defaults":
            content["defaults"] = {_section_of(defaults): _entry(defaults) for defaults in child}
        else:
            content.setdefault(_section_of(child), []).append(_entry(child))
    return content


def _section_of(element: ET.Element) -> str:
    if element.tag not in _TAGS:
        raise ModelError(
            f"<{element.tag}> is unknown; known are defaults, {', '.join(_TAGS)}, and within them "
            "motor and tilt"
        )
    return _TAGS[element.tag]


def _entry(element: ET.Element) -> dict[str, Any]:
    entries = _attributes(element)
    for child in element:
        if child.tag in entries:
            raise ModelError(f"<{element.tag}> has <{child.tag}> twice")
        entries[child.tag] = _attributes(child)
    return entries


def _attributes(element: ET.Element) -> dict[str, Any]:
    return {key: _value(key, text) for key, text in element.attrib.items()}


def _value(key: str, text: str) -> Any:
    """Return an attribute: a number, a list of several, or the text where it is no number."""
    if key == "base":
        return text
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers
