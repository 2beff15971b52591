# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A URDF with the friction, the payload and the inertias that were identified."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.energy.regressor import EnergyRegressor
from vms_ph_dynamics.identification import Identification

from ..mjcf.description import inertial

PAYLOAD = "identified_payload"
"""Name of the link of a payload."""


def identified_urdf(description: str, model: VMSModel, identification: Identification) -> str:
    """Return the text of a URDF with what was identified and is sure.

    Friction becomes the ``<dynamics>`` of the joints. A payload becomes a link fixed at its frame.
    Where mass is missing, or inertias were identified, the whole body that a joint moves becomes
    the inertia of the link at that joint, and the links fixed to it have none.

    Args:
        description: text of the URDF.
        model: its model.
        identification: what was identified.
    """
    root = ET.fromstring(description)
    joints = {str(joint.get("name")): joint for joint in root.findall("joint")}
    for p in identification.claims:
        joint_key, _, term = p.name.rpartition(".")
        if p.kind != "friction" or term not in ("viscous", "coulomb"):
            continue
        joint = joints.get(joint_key.removeprefix("friction."))
        if joint is None or p.value is None or not p.is_sure:
            continue
        if (dynamics := joint.find("dynamics")) is None:
            dynamics = ET.SubElement(joint, "dynamics")
        dynamics.set("damping" if term == "viscous" else "friction", f"{p.value:.9g}")
    regressor = EnergyRegressor(model)
    names = (unknown.name for unknown in identification.unknowns)
    estimates = dict(zip(names, identification.consistent, strict=True))
    body, transform = regressor.of_frame(identification.frame)
    masses = (p.value for p in identification.claims if p.name == "payload_mass" and p.is_sure)
    mass = next(masses, None)
    phi = np.array([x for name, x in estimates.items() if name.startswith("payload.")])
    new_parameters: dict[int, Array] = {}
    if any(p.kind == "inertia" for p in identification.claims):
        for k, name in enumerate(regressor.bodies):
            differences = [x for key, x in estimates.items() if key.startswith(f"inertia.{name}.")]
            new_parameters[k] = regressor.parameters[10 * k : 10 * k + 10] + np.array(differences)
    if mass is not None and mass > 0.0:
        _add_payload(root, identification.frame, phi)
    elif mass is not None:
        body_parameters = new_parameters.get(body, regressor.parameters[10 * body : 10 * body + 10])
        new_parameters[body] = body_parameters + transform @ phi
    for k, parameters in new_parameters.items():
        _set_body(root, model, k + 1, parameters)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _add_payload(root: ET.Element, frame: str, parameters: Array) -> None:
    ET.SubElement(root, "link", name=PAYLOAD).append(_inertial_element(parameters))
    joint = ET.SubElement(root, "joint", name=f"{PAYLOAD}_joint", type="fixed")
    ET.SubElement(joint, "parent", link=_link_of(root, frame))
    ET.SubElement(joint, "child", link=PAYLOAD)


def _link_of(root: ET.Element, frame: str) -> str:
    for joint in root.findall("joint"):
        child = joint.find("child")
        if joint.get("name") == frame and child is not None:
            return str(child.get("link"))
    return frame


def _set_body(root: ET.Element, model: VMSModel, joint: int, parameters: Array) -> None:
    """Give the link at a joint the inertia of the body, and those that are fixed to it none."""
    pinocchio = model.tree.pinocchio
    name = pinocchio.names[joint]
    links = {str(link.get("name")): link for link in root.findall("link")}
    children = {str(j.find("child").get("link")) for j in root.findall("joint")}  # type: ignore[union-attr]
    fixed_links = [f.name for f in pinocchio.frames if f.parentJoint == joint and f.name in links]
    link_name = _link_of(root, name)
    if link_name not in links:  # a base that moves without a joint of the description
        link_name = next(link for link in links if link not in children)
    for link in fixed_links:
        for old_inertial in links[link].findall("inertial"):
            links[link].remove(old_inertial)
    links[link_name].append(_inertial_element(parameters))


def _inertial_element(parameters: Array) -> ET.Element:
    """Return the tag of ten parameters at the origin of a link."""
    return inertial(pin.Inertia.FromDynamicParameters(parameters), "{:.9g}".format)
