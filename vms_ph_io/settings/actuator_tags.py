# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators in the element ``<vms_ph_actuators>`` of a URDF, with the entries of a YAML file.

Readers of URDF pass over elements that they do not know, and xacro leaves them as they are.
"""

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

from vms_ph_dynamics import ModelError

from .actuators_file import SECTIONS, actuators_in

if TYPE_CHECKING:
    from vms_ph_dynamics.actuation.allocation import Actuators

TAG = "vms_ph_actuators"

# Elements within an actuator.
_PARTS = ("motor", "tilt")

_ONE = {section[:-1]: section for section in SECTIONS}


def actuators_of_urdf(description: str) -> "Actuators | None":
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
    elements = root.findall(TAG)
    if not elements:
        return None
    subject = f"<{TAG}> of '{root.get('name', '')}'"
    if len(elements) > 1:
        raise ModelError(
            f"{subject} must stand once in a description; it stands {len(elements)} times"
        )
    try:
        content = _content(elements[0])
    except ModelError as error:
        raise ModelError(f"{subject} is not valid: {error}") from None
    return actuators_in(content, f"{subject} is not valid", "the element")


def _content(element: ET.Element) -> dict[str, Any]:
    """Return an element as the content of a YAML file."""
    content: dict[str, Any] = {key: _value(key, text) for key, text in element.attrib.items()}
    for child in element:
        if child.tag == "defaults":
            content["defaults"] = {}
            for common in child:
                content["defaults"][_section(common)] = _item(common)
        else:
            content.setdefault(_section(child), []).append(_item(child))
    return content


def _section(element: ET.Element) -> str:
    if element.tag not in _ONE:
        raise ModelError(
            f"<{element.tag}> is unknown; known are defaults, {', '.join(_ONE)}, and within them "
            f"{' and '.join(_PARTS)}"
        )
    return _ONE[element.tag]


def _item(element: ET.Element) -> dict[str, Any]:
    item: dict[str, Any] = {key: _value(key, text) for key, text in element.attrib.items()}
    for part in element:
        if part.tag not in _PARTS:
            raise ModelError(
                f"<{element.tag}> has the unknown element <{part.tag}>; known are "
                f"{', '.join(_PARTS)}"
            )
        if part.tag in item:
            raise ModelError(f"<{element.tag}> has <{part.tag}> twice")
        item[str(part.tag)] = {key: _value(key, text) for key, text in part.attrib.items()}
    return item


def _value(key: str, text: str) -> Any:
    """Return an attribute: a number, a list of several, or the text where it is no number."""
    if key == "base":
        return text
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers
