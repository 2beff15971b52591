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

from vms_ph_dynamics import OptionError, VmsPhError
from vms_ph_dynamics.errors import did_you_mean, hint_for

from ..descriptions.packages import resolve, with_file_addresses
from ..installation import share_directory
from ..settings.remedies import remedies
from ..settings.yaml_files import fields_of, read_mapping
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
            OptionError: an argument of another function; the message says of which.
        """
        from ..descriptions.urdf import read_urdf, require_sound

        for name in arguments:
            if remedy := hint_for(name, remedies("robot")):
                raise OptionError(f"'{name}' is no argument of a bundled robot; use {remedy}")
        values = {**self.arguments, **{name: str(value) for name, value in arguments.items()}}
        resolved_arguments = {
            name: str(self._resolved(value)) if value.startswith("package://") else value
            for name, value in values.items()
        }
        xml = read_urdf(self.path(), resolved_arguments)
        if arguments:
            require_sound(xml, f"{self.name} with these arguments")
        root = ET.fromstring(xml)
        for joint in root.findall("joint"):
            if joint.get("name") in self.locked:
                make_fixed(joint)
        return with_file_addresses(ET.tostring(root, encoding="unicode"))

    def load(
        self,
        *,
        base: str | None = None,
        end_effector: str | None = None,
        inertia: str = "auto",
        **arguments: str,
    ) -> "VMSModel":
        """Return the model of the robot; see :func:`load`."""
        return self.model(self.description(**arguments), base, end_effector, inertia)

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
        joints = {name: q for name, q in self.home.items() if name in model.joint_names}
        base_pose = self.home_base if model.base == self.base else ()
        model = model.with_home(model.configuration(joints, base_pose or None))
        if self.fluid:
            model = model.in_fluid(load_fluid(share_directory() / "config/fluids" / self.fluid))
        is_default = gravity is None and not locked_joints and description == self.description()
        model.urdf = description if is_default else ""
        return model

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
            text = f"robot '{self.name}' has no actuators of its own; give the path of a file, see "
            text += "docs/actuators.md"
            raise OptionError(text)
        return load_actuators(share_directory() / "config/actuators" / self.actuators)

    def _resolved(self, address: str) -> Path:
        file = resolve(address)
        if file is None or not os.path.isfile(file):
            file = share_directory() / "urdf/simplified" / PurePosixPath(address).name
        if not os.path.isfile(file):
            raise VmsPhError(f"robot '{self.name}' requires {address}, which is not installed")
        return file


@cache
def _robots() -> Mapping[str, Robot]:
    """Return the robots of config/robots/bundled.yaml, in its order."""
    return {
        name: Robot(**fields_of(Robot, {"name": name, **entry}, f"the robot '{name}'"))
        for name, entry in read_mapping(share_directory() / "config/robots/bundled.yaml").items()
    }


def names() -> tuple[str, ...]:
    """Return the names of the bundled robots, without those of wings that are not installed."""
    return tuple(r.name for r in _robots().values() if not r.wing or WINGS[r.wing].is_installed)


def is_on_floor(name: str) -> bool:
    """Return whether a name is that of a bundled robot with a floor, its wing installed or not."""
    return name in _robots() and _robots()[name].on_floor


@cache
def known_as(name: str) -> str:
    """Return the bundled robot whose description has a name, or else that name."""
    descriptions = ((robot, get(robot).description()) for robot in names())
    return next((r for r, xml in descriptions if ET.fromstring(xml).get("name") == name), name)


def vehicle_of(urdf: str) -> str:
    """Return the bundled robot on a moving base that a URDF is of, or an empty text.

    The URDF does not state its gravity, its fluid and whether its base is planar.
    """
    return next((n for n in names() if get(n).base != "fixed" and get(n).description() == urdf), "")


def get(name: str) -> Robot:
    """Return a bundled robot.

    Raises:
        OptionError: no robot of that name; the message lists the bundled ones.
        WingError: it is of a wing that is not installed or broken.
    """
    if (robot := _robots().get(name)) is None:
        raise OptionError(
            f"there is no robot '{name}'{did_you_mean(name, names())}; bundled are "
            f"{', '.join(f'{entry} ({_robots()[entry].title})' for entry in names())}; "
            "any other is given by the path of its URDF or MJCF, or vms_ph_io.load_urdf(path)"
        )
    if robot.wing:
        hook(robot.wing, user=f"the robot '{name}'")
    return robot


def load(
    name: str,
    *,
    base: str | None = None,
    end_effector: str | None = None,
    inertia: str = "auto",
    **arguments: str,
) -> "VMSModel":
    """Return the model of a bundled robot.

    Args:
        name: one of :func:`names`.
        base: ``"fixed"``, ``"planar"`` or ``"floating"`` in place of its own.
        end_effector: name of a frame in place of its own.
        inertia: as for :meth:`VMSModel.from_urdf`, for what the arguments change.
        **arguments: xacro arguments, for instance ``bus_mass="400"``.

    Raises:
        OptionError: no robot of that name.
    """
    return get(name).load(base=base, end_effector=end_effector, inertia=inertia, **arguments)


def make_fixed(joint: ET.Element) -> None:
    """Make a joint of a description fixed, at zero."""
    joint.set("type", "fixed")
    for tag in ("axis", "limit", "dynamics", "mimic", "safety_controller", "calibration"):
        for element in joint.findall(tag):
            joint.remove(element)
