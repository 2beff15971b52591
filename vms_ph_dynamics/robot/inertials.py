# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ``<inertial>`` elements of a URDF."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ..arrays import Array
from .description import LARGEST_NUMBER, has_content
from .inertia import LinkInertia

_NUMBERS = {"mass": ("value",), "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}


class Inertial(NamedTuple):
    """The inertia of a link.

    Attributes:
        mass: kg.
        centre: (3,) centre of mass in the link, m.
        rotational: (3,3) about the centre of mass, in the axes of the link, kg m^2.
    """

    mass: float
    centre: Array
    rotational: Array


def inertial_errors(description: ET.Element) -> Iterator[str]:
    """Yield an error for every number that an inertial lacks; the URDF parser drops such ones."""
    for link in description.findall("link"):
        inertial, name = link.find("inertial"), link.get("name")
        if inertial is None or not has_content(inertial):
            continue
        for tag, keys in _NUMBERS.items():
            element = inertial.find(tag)
            missing = [key for key in keys if element is None or element.get(key) is None]
            if missing:
                yield (
                    f"the <inertial> of link '{name}' must give {', '.join(missing)} of its <{tag}>"
                )


def read_inertials(description: ET.Element) -> dict[str, Inertial]:
    """Return the inertias of the links that have one, by name, without those in error."""
    inertials = {}
    for link in description.findall("link"):
        element = link.find("inertial")
        inertial = None if element is None else _read(element)
        if inertial is not None:
            inertials[str(link.get("name"))] = inertial
    return inertials


def _read(element: ET.Element) -> Inertial | None:
    try:
        of = {
            key: float(part.attrib[key])
            for tag, keys in _NUMBERS.items()
            for part in element.findall(tag)[:1]
            for key in keys
        }
        origin = element.find("origin")
        attributes = {} if origin is None else origin.attrib
        centre, angles = (
            np.array([float(word) for word in attributes.get(key, "0 0 0").split()])
            for key in ("xyz", "rpy")
        )
        tensor = np.array([[of[f"i{min(a, b)}{max(a, b)}"] for a in "xyz"] for b in "xyz"])
        mass = of["value"]
    except (KeyError, ValueError):
        return None
    numbers = np.concatenate([centre, angles, tensor.ravel(), [mass]])
    if not len(centre) == len(angles) == 3 or not (np.abs(numbers) <= LARGEST_NUMBER).all():
        return None
    if angles.any():
        R = pin.rpy.rpyToMatrix(angles)
        tensor = R @ tensor @ R.T
    return Inertial(mass, centre, 0.5 * (tensor + tensor.T))


def links_of_urdf(description: ET.Element, model: Any) -> list[LinkInertia]:
    """Return the inertias of the links of a URDF, with their places in its Pinocchio model."""
    inertials = read_inertials(description)
    return [
        LinkInertia(frame.name, frame.parentJoint, frame.placement, *inertials[frame.name])
        for frame in model.frames
        if frame.type == pin.FrameType.BODY and frame.name in inertials
    ]
