# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of a URDF before a model is built from it, stricter than the parser."""

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.robot import InertiaDefect, InertiaMode, check_inertia, inertia_defects
from vms_ph_dynamics.robot.building import check_base, description_errors, read_inertials
from vms_ph_dynamics.robot.description import completions, parse_description
from vms_ph_dynamics.robot.inertia_repair import check_mode, refused_defects, repaired_defects

from ..packages import resolve


class UrdfWarning(UserWarning):
    """A warning about a URDF that does not affect the dynamics."""


@dataclass(frozen=True)
class Findings:
    """Findings about a URDF.

    Attributes:
        errors: sentences on what prevents a model, refused defects of inertias among them.
        warnings: sentences on what does not prevent it, repaired defects among them.
        defects: all defects of inertias; empty where other errors prevent a model.
    """

    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    defects: tuple[InertiaDefect, ...] = ()


def check_urdf(xml: str, base: str = "auto", inertia: InertiaMode = "auto") -> Findings:
    """Return all errors and warnings about the text of a URDF.

    Args:
        xml: the text.
        base: as for :meth:`VMSModel.from_urdf`.
        inertia: likewise.

    Raises:
        ModelError: a base or mode that does not exist.
    """
    check_base(base)
    check_mode(inertia)
    findings = _check_structure(xml)
    if findings.errors:
        return Findings((*findings.errors, *_ungraded_defects(xml)), findings.warnings)
    try:
        defects = inertia_defects(xml, base)
    except ModelError as error:
        return Findings((str(error),), findings.warnings)
    refusals = refused_defects(defects, inertia)
    repairs = repaired_defects(defects, inertia)
    warnings = (*findings.warnings, *(f"repaired: {defect}" for defect in repairs))
    return Findings(tuple(map(str, refusals)), warnings, defects)


def _ungraded_defects(xml: str) -> Iterator[str]:
    """Yield the defects of inertias of a URDF from which no robot can be built to grade them."""
    try:
        inertials = read_inertials(parse_description(xml))
    except ModelError:
        return  # reported by the check of the structure
    for name, inertial in inertials.items():
        try:
            check_inertia(name, inertial.mass, inertial.inertia)
        except ModelError as error:
            yield str(error)


def _check_structure(xml: str) -> Findings:
    try:
        root = parse_description(xml)
    except ModelError as error:
        return Findings((str(error),), ())
    # What the MJCF or xacro has from which a URDF was made, and the model has not.
    left_out = (f"the model leaves out {note.text}" for note in root.findall("*/left_out"))
    warnings = (*left_out, *completions(root), *_mesh_warnings(root))
    if errors := description_errors(root):
        return Findings(errors, warnings)
    warnings = (*warnings, *_limit_warnings(root))
    return Findings((*_mass_errors(root), *_joint_errors(root)), warnings)


def require_sound(xml: str, name: str) -> tuple[str, ...]:
    """Raise an error if a URDF has errors; return its warnings.

    Args:
        xml: text of the URDF.
        name: name in the error message, for instance a file name.

    Raises:
        ModelError: the URDF has errors; the message lists all of them.
    """
    findings = _check_structure(xml)
    if findings.errors:
        raise ModelError(f"{name}: " + "; ".join(findings.errors))
    return findings.warnings


def _mass_errors(root: ET.Element) -> Iterator[str]:
    masses = (mass.get("value") for mass in root.iterfind("link/inertial/mass"))
    if not any(float(value or 0.0) for value in masses):
        yield (
            "no link has an <inertial> with a mass, so there is no dynamics; take a description "
            "with masses, such as package://vms_ph/urdf/fr3.urdf"
        )


def _joint_errors(root: ET.Element) -> Iterator[str]:
    """Yield an error for friction and axes that no joint can have."""
    for joint in root.findall("joint"):
        name, kind = joint.get("name"), joint.get("type")
        if kind == "fixed":
            continue
        for dynamics in joint.findall("dynamics"):
            for term in ("damping", "friction"):
                value = dynamics.get(term, "0")
                if not float(value) >= 0.0:
                    yield f"the {term} of joint '{name}' must not be negative; given: {value}"
        axis = joint.find("axis")
        if kind != "floating" and axis is not None:
            direction = [float(x) for x in axis.get("xyz", "1 0 0").split()]
            if not 0.0 < np.linalg.norm(direction) < np.inf:
                yield f"the axis of joint '{name}' must be nonzero; given: {direction}"


def _limit_warnings(root: ET.Element) -> Iterator[str]:
    """Yield a warning for limits in the wrong order, which stand for none, as in Bullet."""
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        if joint.get("type") in ("revolute", "prismatic") and limit is not None:
            lower, upper = (float(limit.get(bound, "0")) for bound in ("lower", "upper"))
            if lower > upper:
                text = f"lower limit of joint '{joint.get('name')}', {lower:g}, is above the upper"
                yield f"the {text}, {upper:g}: the joint has no ends"


def _mesh_warnings(root: ET.Element) -> Iterator[str]:
    uris = sorted({mesh.get("filename", "") for mesh in root.iter("mesh")})
    paths = [(uri, resolve(uri)) for uri in uris]  # isfile: False, too, for an impossible path
    missing = [uri for uri, path in paths if path is None or not os.path.isfile(path)]
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        text = f"the mesh '{missing[0]}'{others} cannot be read; the robot will be drawn without"
        yield f"{text} {'them' if others else 'it'}"
