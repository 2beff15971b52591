"""The ``<inertial>`` elements of a URDF."""

import xml.etree.ElementTree as ET
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError
from .link_inertia import LinkInertia

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


def check_inertials(description: ET.Element) -> None:
    """Check the inertials; the URDF parser drops incomplete ones with a line on stderr.

    Raises:
        ModelError: a number is missing, or is none.
    """
    for link in description.findall("link"):
        inertial, name = link.find("inertial"), link.get("name")
        if inertial is None:
            continue
        for tag, keys in _NUMBERS.items():
            element = inertial.find(tag)
            for key in keys:
                given = None if element is None else element.get(key)
                try:
                    float(given or "")
                except ValueError:
                    raise ModelError(
                        f"the <inertial> of link '{name}' must give {key} of its <{tag}> as a "
                        f"number; given: {given!r}"
                    ) from None


def read_inertials(description: ET.Element) -> dict[str, Inertial]:
    """Return the inertias of the links that have one, by name.

    Raises:
        ModelError: a number is missing, or is none.
    """
    check_inertials(description)
    found = {}
    for link in description.findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        of = {
            key: float(inertial.find(tag).attrib[key])  # type: ignore[union-attr]
            for tag, keys in _NUMBERS.items()
            for key in keys
        }
        origin = inertial.find("origin")
        given = {} if origin is None else origin.attrib
        centre, angles = (
            np.array([float(word) for word in given.get(key, "0 0 0").split()])
            for key in ("xyz", "rpy")
        )
        tensor = np.array(
            [
                [of["ixx"], of["ixy"], of["ixz"]],
                [of["ixy"], of["iyy"], of["iyz"]],
                [of["ixz"], of["iyz"], of["izz"]],
            ]
        )
        turned = tensor
        if angles.any():
            R = pin.rpy.rpyToMatrix(angles)
            turned = R @ tensor @ R.T
            turned = 0.5 * (turned + turned.T)
        found[str(link.get("name"))] = Inertial(of["value"], centre, turned)
    return found


def links_of_urdf(description: ET.Element, model: Any) -> list[LinkInertia]:
    """Return the inertias of the links of a URDF, with their places in its Pinocchio model."""
    inertials = read_inertials(description)
    return [
        LinkInertia(frame.name, frame.parentJoint, frame.placement, *inertials[frame.name])
        for frame in model.frames
        if frame.type == pin.FrameType.BODY and frame.name in inertials
    ]
