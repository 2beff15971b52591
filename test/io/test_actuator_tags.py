# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators in the element of a URDF: the same ones as of a YAML file, and the same errors."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import yaml

from vms_ph_dynamics import ModelError, VmsPhError
from vms_ph_io import read_urdf, share_directory
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.settings.actuators_file import SECTIONS, TAG, actuators_of_urdf, load_actuators

FILES = sorted((share_directory() / "config/actuators").glob("*.yaml"))

BODY = (
    "<link name='body'><inertial><mass value='1'/>"
    "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
)
CONTROL = (
    "<ros2_control name='all' type='system'><hardware><plugin>p/S</plugin></hardware>"
    "</ros2_control>"
)
# Every kind of actuator, with every entry that the bundled files leave out.
ALL = {
    "base": "floating",
    "thrust": [0.0, 9.0],
    "drag_ratio": 0.02,
    "defaults": {"thrusters": {"thrust": [-4.0, 5.0], "motor": {"resistance": 0.1}}},
    "rotors": [
        {"position": [0.1, 0.0, 0.0], "orientation": [0.0, 0.0, 0.0, 1.0], "torque_sign": -1,
         "tilt": {"axis": [1.0, 0.0, 0.0], "limits": [-0.5, 0.5], "rate": 4.0},
         "thrust_constant": 8e-6, "inertia": 2e-5},
    ],
    "thrusters": [{"position": [0.0, 0.1, 0.0], "axis": [1.0, 0.0, 0.0], "loss_ratio": 0.01}],
    "reaction_wheels": [{"axis": [0.0, 0.0, 1.0], "inertia": 0.1, "rate": 30.0}],
}  # fmt: skip
CASTERS = {
    "base": "planar",
    "casters": [
        {"position": [0.1 * k, 0.2], "radius": 0.05, "trail": 0.02, "angle": 0.3} for k in range(3)
    ],
}


def described(tags: str) -> str:
    return f"<robot name='drone'>{BODY}{CONTROL}{tags}</robot>"


def actuator_tags(content: Mapping[str, Any]) -> str:
    """Return the element with the entries of a YAML file of actuators."""
    element = ET.Element(TAG)
    for key, value in content.items():
        if key == "defaults":
            defaults = ET.SubElement(element, key)
            for section, common in value.items():
                _add(defaults, section[:-1], common)
        elif key in SECTIONS:
            for item in value:
                _add(element, key[:-1], item)
        else:
            element.set(key, _text(value))
    ET.indent(element)
    return ET.tostring(element, encoding="unicode")


def _add(parent: ET.Element, tag: str, item: Mapping[str, Any]) -> None:
    element = ET.SubElement(parent, tag)
    for key, value in item.items():
        if isinstance(value, Mapping):
            _add(element, key, value)
        else:
            element.set(key, _text(value))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    values = value if isinstance(value, list) else [value]
    return " ".join(repr(number) for number in values)


def assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if is_dataclass(one):
        for item in fields(one):
            assert_same(getattr(one, item.name), getattr(other, item.name))
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_and_its_element_are_the_same_actuators(file: Path) -> None:
    of_file = load_actuators(file)
    of_tags = actuators_of_urdf(described(actuator_tags(yaml.safe_load(file.read_text()))))
    assert of_tags is not None
    assert of_tags.names == of_file.names
    np.testing.assert_array_equal(of_tags.weights, of_file.weights)
    for one, other in zip(of_tags.members, of_file.members, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("content", [ALL, CASTERS], ids=["floating", "casters"])
def test_every_entry_of_a_file_can_be_an_attribute(content: dict, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump(content))
    of_tags = actuators_of_urdf(described(actuator_tags(content)))
    assert of_tags is not None
    for one, other in zip(of_tags.members, load_actuators(file).members, strict=True):
        assert_same(one, other)


def test_readers_of_urdf_pass_over_the_element(capfd: pytest.CaptureFixture[str]) -> None:
    text = described(actuator_tags(ALL))
    plain = described("")
    assert pin.buildModelFromXML(text) == pin.buildModelFromXML(plain)
    parser = pytest.importorskip("urdf_parser_py.urdf")
    assert [link.name for link in parser.URDF.from_xml_string(text).links] == ["body"]
    # It names the elements that it does not know, that of ros2_control too.
    assert capfd.readouterr().err.count("Unknown tag") == 2


ROTOR = "<rotor position='0 0 0' axis='0 0 1' thrust='0 9'{}>{}</rotor>"


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ("<rotor axis='0 0 1' thrust='0 9'/>", "rotor 0 lacks 'position'"),
        (ROTOR.format(" blades='2'", ""), "rotor 0 has the unknown key 'blades'; known are"),
        (ROTOR.format(" time_constant='fast'", ""), "time_constant of rotor 0 must be 1 numbers"),
        (ROTOR.format("", "<gear/>"), "rotor 0 has the unknown key 'gear'; known are"),
        (ROTOR.format("", "<motor/><motor/>"), "<rotor> has <motor> twice"),
        ("<propeller/>", "<propeller> is unknown; known are defaults, rotor, thruster, wheel"),
        ("", "the element has none of rotors, thrusters"),
    ],
)
def test_what_is_wrong_with_an_element_is_said(tags: str, said: str) -> None:
    with pytest.raises(ModelError, match=f"^<vms_ph_actuators> of 'drone' is not valid: {said}"):
        actuators_of_urdf(described(f"<vms_ph_actuators>{tags}</vms_ph_actuators>"))


def test_an_element_stands_once() -> None:
    both = 2 * "<vms_ph_actuators/>"
    with pytest.raises(ModelError, match="must stand once in a description; it stands 2 times"):
        actuators_of_urdf(described(both))


def test_own_actuators_of_a_description_are_those_of_its_element(tmp_path: Path) -> None:
    file = tmp_path / "drone.urdf.xacro"
    rotors = (
        "<xacro:property name='arm' value='0.2'/><vms_ph_actuators>"
        "<defaults><rotor axis='0 0 1' thrust='0 9' drag_ratio='0.02'/></defaults>"
        "<xacro:macro name='pair' params='x sign'><rotor position='${x} ${arm} 0' "
        "torque_sign='${sign}'/><rotor position='${x} ${-arm} 0' torque_sign='${-sign}'/>"
        "</xacro:macro><xacro:pair x='${arm}' sign='1'/><xacro:pair x='${-arm}' sign='-1'/>"
        "</vms_ph_actuators>"
    )
    text = described(rotors).replace("<robot ", "<robot xmlns:xacro='http://x.org/xacro' ")
    file.write_text(text.replace("http://x.org/xacro", "http://www.ros.org/wiki/xacro"))
    settings = RobotSettings(str(file), base="floating", actuators="own")
    found = settings.chosen_actuators()
    assert found is not None
    places = [tuple(kind.position) for kind in found.members]
    assert places == [(0.2, 0.2, 0.0), (0.2, -0.2, 0.0), (-0.2, 0.2, 0.0), (-0.2, -0.2, 0.0)]
    # A description that was received as text has no file.
    received = RobotSettings(actuators="own").allocation(read_urdf(file))
    assert received is not None
    np.testing.assert_array_equal(received.matrix, found.allocation.matrix)
    file.write_text(described(""))
    with pytest.raises(VmsPhError, match="give its description an element <vms_ph_actuators>"):
        settings.chosen_actuators()
