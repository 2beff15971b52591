# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction of joints in a YAML file."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.energy.joint_friction import JointFriction

from .bounded_text import read_yaml

_MOVABLE_TYPES = ("revolute", "continuous", "prismatic")

FIELDS = ("viscous", "coulomb", "slip", "shift", "offset")
"""Numbers of a joint, see :class:`.JointFriction`; those left out are zero, ``slip`` 0.01."""


DYNAMICS = {"viscous": "damping", "coulomb": "friction"}
"""Attributes of ``<dynamics>`` of a URDF with the same numbers; there are none for the others."""


def read_friction(path: Path, model: VMSModel) -> JointFriction:
    """Return the friction in a file of the form ``friction: {joint: {viscous: 1.0, ...}}``.

    Joints that are left out have no friction.

    Raises:
        VmsPhError: the file cannot be read, or names a joint or a number that does not exist.
    """
    parameters = {name: np.zeros(model.n) for name in FIELDS}
    parameters["slip"][:] = 0.01
    for joint, coefficients in _by_joint(path, model.joint_names, model.name).items():
        for name, value in coefficients.items():
            parameters[name][model.joint_index(joint)] = value
    return JointFriction(**parameters)


def with_friction(description: str, path: Path, warn: Callable[[str], None] | None = None) -> str:
    """Return a URDF whose joints have the friction in a file, as nodes simulate and account for it.

    Joints that are left out have no friction.

    Args:
        description: the URDF text.
        path: the file, see :func:`read_friction`.
        warn: called with a sentence about numbers that a URDF cannot have, or None.

    Raises:
        VmsPhError: the file cannot be read, names a joint or a number that does not exist, or has
            friction that drives the robot.
    """
    root = ET.fromstring(description)
    joints = {
        str(joint.get("name")): joint
        for joint in root.findall("joint")
        if joint.get("type") in _MOVABLE_TYPES
    }
    friction = _by_joint(path, tuple(joints), str(root.get("name")))
    unsupported: dict[str, list[str]] = {}
    for name, joint in joints.items():
        coefficients = friction.get(name, {})
        if (dynamics := joint.find("dynamics")) is None:
            dynamics = ET.SubElement(joint, "dynamics")
        for term, attribute in DYNAMICS.items():
            value = coefficients.get(term, 0.0)
            if not 0.0 <= value < np.inf:
                raise VmsPhError(
                    f"{path}: {term} friction must not be negative; given: {value:g} at '{name}'"
                )
            dynamics.set(attribute, repr(float(value)))
        for term in coefficients:
            if term not in DYNAMICS and coefficients[term] != 0.0:
                unsupported.setdefault(term, []).append(name)
    if unsupported and warn is not None:
        terms = "; ".join(f"{term} of {', '.join(names)}" for term, names in unsupported.items())
        warn(f"{path.name}: nodes have viscous and Coulomb friction; left out: {terms}")
    return ET.tostring(root, encoding="unicode")


def _by_joint(path: Path, joint_names: tuple[str, ...], robot: str) -> dict[str, dict[str, float]]:
    """Return the numbers in a file by joint."""
    content = read_yaml(path)
    joints = content.get("friction", content) if isinstance(content, dict) else None
    if not isinstance(joints, dict) or not all(isinstance(v, dict) for v in joints.values()):
        raise VmsPhError(
            f"{path} must have the form friction: {{joint: {{viscous: 1.0, coulomb: 0.5}}}}"
        )
    for joint, coefficients in joints.items():
        if joint not in joint_names:
            text = f"{path}: '{joint}' is no joint of '{robot}'; its joints are "
            text += f"{', '.join(joint_names)}"
            raise VmsPhError(text)
        for name, value in coefficients.items():
            if name not in FIELDS or isinstance(value, bool) or not isinstance(value, (int, float)):
                text = f"{path}: '{joint}' must have numbers of {', '.join(FIELDS)}; given: "
                text += f"{name}: {value!r}"
                raise VmsPhError(text)
    return {str(joint): dict(coefficients) for joint, coefficients in joints.items()}
