# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bundled robots, by name."""

import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from vms_ph_dynamics.errors import OptionError, VmsPhError

from ..descriptions.packages import resolve, with_file_addresses
from ..installation import share_directory
from ..wings import WINGS, hook

if TYPE_CHECKING:
    from vms_ph_dynamics import Allocation, VMSModel
    from vms_ph_dynamics.actuation import Actuators


@dataclass(frozen=True)
class Robot:
    """A bundled robot, which can be loaded by name.

    Attributes:
        name: name of the robot.
        title: description in one line.
        source: origin of the description.
        file: URI of its URDF, xacro or MJCF file.
        base: kind of base.
        end_effector: frame of the end-effector wrench.
        locked: joints that are locked at zero.
        home: initial joint positions, rad or m; zero for other joints.
        home_base: initial base part of the configuration; the origin if empty.
        on_floor: whether it is simulated with a floor at y = 0, with y up.
        arguments: xacro arguments; URIs of files are resolved.
        gravity: (3,) gravity in the inertial frame, m/s^2.
        actuators: name of a file in config/actuators, or empty.
        ideal: whether its base applies any wrench where no actuators are chosen.
        fluid: name of a file in config/fluids, or empty.
        wing: name of the wing that simulates and controls it, or empty; see :mod:`.wings`.
    """

    name: str
    title: str
    source: str
    file: str
    base: Literal["fixed", "planar", "floating"]
    end_effector: str
    locked: tuple[str, ...] = ()
    home: Mapping[str, float] = field(default_factory=dict)
    home_base: tuple[float, ...] = ()
    on_floor: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict)
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    actuators: str = ""
    ideal: bool = True
    fluid: str = ""
    wing: str = ""

    def path(self) -> Path:
        """Return the file of the description.

        Where the package example-robot-data is not installed, this is the bundled description of
        the same robot, whose meshes are replaced by simple shapes.
        """
        return self._resolved(self.file)

    def description(self, **arguments: str) -> str:
        """Return its URDF with locked joints as fixed joints and meshes as file URIs.

        Args:
            **arguments: xacro arguments, which override those of the robot.

        Raises:
            ModelError: an unknown argument, or one that makes the description invalid; inertias
                are judged by :meth:`model`.
        """
        from ..descriptions.urdf import read_urdf, require_sound

        merged = {**self.arguments, **arguments}
        resolved = {
            name: str(self._resolved(value)) if value.startswith("package://") else value
            for name, value in merged.items()
        }
        xml = read_urdf(self.path(), resolved)
        if arguments:
            require_sound(xml, f"{self.name} with these arguments")
        root = ET.fromstring(xml)
        for joint in root.findall("joint"):
            if joint.get("name") in self.locked:
                make_fixed(joint)
        return with_file_addresses(ET.tostring(root, encoding="unicode"))

    def load(self, *, inertia: str = "auto", **arguments: str) -> "VMSModel":
        """Return the model of the robot; the arguments are those of :meth:`description`."""
        return self.model(self.description(**arguments), inertia=inertia)

    def model(
        self,
        description: str,
        base: str | None = None,
        end_effector: str | None = None,
        inertia: str = "auto",
        *,
        gravity: Sequence[float] | None = None,
        locked_joints: Mapping[str, float] | None = None,
    ) -> "VMSModel":
        """Return the model of a description of this robot, in its fluid if it has one."""
        # Imported here, so that listing the robots does not require Pinocchio.
        from vms_ph_dynamics import VMSModel

        from ..settings.fluid_file import load_fluid

        model = VMSModel.from_urdf(
            description,
            base or self.base,  # type: ignore[arg-type]
            end_effector or self.end_effector,
            self.gravity if gravity is None else gravity,
            locked_joints or {},
            inertia=inertia,  # type: ignore[arg-type]
        )
        joints = {name: at for name, at in self.home.items() if name in model.joint_names}
        own_base = self.home_base if model.base == self.base else ()
        model = model.with_home(model.configuration(joints, own_base or None))
        if not self.fluid:
            return model
        return model.in_fluid(load_fluid(share_directory() / "config/fluids" / self.fluid))

    def allocation(self) -> "Allocation | None":
        """Return the allocation of its actuators, or None where its base is ideal by default."""
        return None if self.ideal else self.own_actuators().allocation

    def own_actuators(self) -> "Actuators":
        """Return its actuators.

        Raises:
            OptionError: it has none.
        """
        from ..settings.actuators_file import load_actuators

        if not self.actuators:
            raise OptionError(
                f"robot '{self.name}' has no actuators of its own; give the path of a file, see "
                "docs/actuators.md"
            )
        return load_actuators(share_directory() / "config/actuators" / self.actuators)

    def _resolved(self, address: str) -> Path:
        file = resolve(address)
        if file is None or not os.path.isfile(file):
            file = share_directory() / "urdf/simplified" / PurePosixPath(address).name
        if not os.path.isfile(file):
            raise VmsPhError(f"robot '{self.name}' requires {address}, which is not installed")
        return file


# The ready posture q*_0 of source D, well within all limits.
_PANDA_HOME = {"panda_joint2": -0.3, "panda_joint4": -1.5, "panda_joint6": 1.5}
# The arms are drawn in: the URDF lacks the springs in the shoulders, without which stretched arms
# exceed the torque limits.
_BAXTER_HOME = {
    f"{side}_{joint}": angle
    for side in ("left", "right")
    for joint, angle in (("s1", -1.0), ("e1", 1.9), ("w1", 0.5))
}
_PANDA_FILE = "package://example-robot-data/robots/panda_description/urdf/panda.urdf"
_PANDA_FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
_DATA = "package://example-robot-data/robots"
_OURS = "package://vms_ph/urdf"

_ROBOTS = {
    robot.name: robot
    for robot in (
        Robot(
            name="panda",
            title="Franka Emika Panda, 7 joints on a fixed base, gripper closed",
            source="franka_ros, as packaged by example-robot-data",
            file=_PANDA_FILE,
            base="fixed",
            end_effector="panda_link8",
            locked=_PANDA_FINGERS,
            home=_PANDA_HOME,
        ),
        Robot(
            name="omnidirectional_panda",
            title="the Panda on an omnidirectional base",
            source="base: Clearpath Ridgeback; arm: as panda",
            file=f"{_OURS}/omnidirectional_panda.urdf.xacro",
            base="planar",
            end_effector="panda_link8",
            locked=_PANDA_FINGERS,
            home=_PANDA_HOME,
            arguments={"arm": _PANDA_FILE},
            actuators="omnidirectional_panda.yaml",
        ),
        Robot(
            name="hextilt",
            title="Hextilt, a fully actuated hexarotor with a 5-joint arm",
            source="IRI (CSIC-UPC), hidro_robots and eagle-mpc, as packaged by example-robot-data",
            file=f"{_DATA}/hextilt_description/urdf/hextilt_flying_arm_5.urdf",
            base="floating",
            end_effector="flying_arm_5__gripper",
            actuators="hextilt.yaml",
            ideal=False,
        ),
        Robot(
            name="borinot",
            title="Borinot, a hexarotor with a 2-joint arm",
            source="IRI (CSIC-UPC), hidro_robots, as packaged by example-robot-data",
            file=f"{_DATA}/borinot_description/urdf/borinot_flying_arm_2.urdf",
            base="floating",
            end_effector="flying_arm_2__ee",
            actuators="borinot.yaml",
        ),
        Robot(
            name="satellite_panda",
            title="a free-flying satellite with a 7-joint arm, no gravity",
            source="bus: ETS-VII (Yoshida 2003); arm: as panda",
            file=f"{_OURS}/satellite_panda.urdf.xacro",
            base="floating",
            end_effector="panda_link8",
            locked=_PANDA_FINGERS,
            home=_PANDA_HOME,
            arguments={"arm": _PANDA_FILE},
            gravity=(0.0, 0.0, 0.0),
            actuators="satellite_panda.yaml",
        ),
        Robot(
            name="bluerov2_alpha5",
            title="an underwater vehicle with a 4-joint arm, in fresh water",
            source="BlueROV2 Heavy (von Benzon et al. 2022) and Reach Alpha 5 (maker's data)",
            file=f"{_OURS}/bluerov2_alpha5.urdf.xacro",
            base="floating",
            end_effector="alpha_tool",
            home={
                "alpha_axis_e": 0.1,
                "alpha_axis_d": 1.6,
                "alpha_axis_c": 1.2,
                "alpha_axis_b": 0.1,
            },
            fluid="bluerov2_alpha5.yaml",
            actuators="bluerov2_alpha5.yaml",
        ),
        Robot(
            name="prismatic_hopper",
            title="a leg with one prismatic joint that hops in a vertical plane, y up",
            source="Feurstein, TU Munich 2021, tables 4.4 and 4.5",
            file=f"{_OURS}/prismatic_hopper.urdf.xacro",
            base="planar",
            end_effector="foot",
            home={"leg": 0.12},
            home_base=(0.0, 0.3, 0.0, -1.0),
            on_floor=True,
            wing="hopping",
            gravity=(0.0, -9.81, 0.0),
        ),
        Robot(
            name="revolute_hopper",
            title="a leg with a knee that hops in a vertical plane, y up",
            source="Feurstein, TU Munich 2021, tables 4.9 and 4.10",
            file=f"{_OURS}/revolute_hopper.urdf.xacro",
            base="planar",
            end_effector="foot",
            home={"knee": 1.7802},
            # The tilted start of experiment V of source B, theta = -1.9938 rad.
            home_base=(0.0, 0.3, -0.4105012303026828, -0.9118600440418385),
            on_floor=True,
            wing="hopping",
            gravity=(0.0, -9.81, 0.0),
        ),
        Robot(
            name="baxter",
            title="Baxter, two 7-joint arms on a fixed torso, head and grippers locked",
            source="Rethink Robotics, as packaged by example-robot-data",
            file=f"{_DATA}/baxter_description/urdf/baxter.urdf",
            base="fixed",
            end_effector="right_gripper",
            home=_BAXTER_HOME,
            locked=(
                "head_pan",
                "l_gripper_l_finger_joint",
                "l_gripper_r_finger_joint",
                "r_gripper_l_finger_joint",
                "r_gripper_r_finger_joint",
            ),
        ),
    )
}


def names() -> tuple[str, ...]:
    """Return the names of the bundled robots, without those of wings that are not installed."""
    return tuple(r.name for r in _ROBOTS.values() if not r.wing or WINGS[r.wing].is_installed)


def is_on_floor(name: str) -> bool:
    """Return whether a name is that of a bundled robot with a floor, its wing installed or not."""
    return name in _ROBOTS and _ROBOTS[name].on_floor


@cache
def known_as(name: str) -> str:
    """Return the bundled robot whose description has a name, or else that name."""
    matching = (
        robot_name for robot_name in names() if _name_in(get(robot_name).description()) == name
    )
    return next(matching, name)


def get(name: str) -> Robot:
    """Return a bundled robot.

    Raises:
        OptionError: no robot of that name; the message lists the bundled ones.
        WingError: it is of a wing that is not installed or broken.
    """
    robot = _ROBOTS.get(name)
    if robot is None:
        raise OptionError(
            f"there is no robot '{name}'; bundled are {', '.join(names())}; any other robot can "
            "be given by the path of its URDF or MJCF"
        )
    if robot.wing:
        hook(robot.wing, user=f"the robot '{name}'")
    return robot


def load(name: str, *, inertia: str = "auto", **arguments: str) -> "VMSModel":
    """Return the model of a bundled robot.

    Args:
        name: one of :func:`names`.
        inertia: as for :meth:`VMSModel.from_urdf`, for what the arguments change.
        **arguments: xacro arguments, for instance ``bus_mass="400"``.

    Raises:
        OptionError: no robot of that name.
    """
    return get(name).load(inertia=inertia, **arguments)


def _name_in(description: str) -> str:
    return ET.fromstring(description).get("name", "")


def make_fixed(joint: ET.Element) -> None:
    """Make a joint of a description fixed, at zero."""
    joint.set("type", "fixed")
    for tag in ("axis", "limit", "dynamics", "mimic", "safety_controller", "calibration"):
        for element in joint.findall(tag):
            joint.remove(element)
