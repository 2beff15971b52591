# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The settings of a robot, as text: what launch files, nodes and commands are given about it.

Every node builds its model here, so that all nodes of a launch have the same one.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vms_ph_dynamics import OptionError
from vms_ph_dynamics.errors import did_you_mean

from ..descriptions.packages import resolve
from . import bundled as robots

if TYPE_CHECKING:
    from vms_ph_dynamics import Allocation, Array, VMSModel
    from vms_ph_dynamics.actuation import Actuators
    from vms_ph_dynamics.nonholonomic import NonholonomicForm
    from vms_ph_dynamics.simulation import WaterCurrent
    from vms_ph_dynamics.simulation.contact.task import Task

_SUFFIXES = (".urdf", ".xacro", ".xml", ".mjcf")

BASES = ("auto", "fixed", "planar", "floating")


@dataclass(frozen=True)
class RobotSettings:
    """A robot and what is chosen about it; empty text means the default of the robot.

    Attributes:
        robot: name of a bundled robot, or path of a URDF, xacro or MJCF file, which arguments of
            xacro may follow: ``arm.xacro name:=value``.
        base: one of :data:`BASES`; auto is the base of a bundled robot, and else that of the URDF.
        end_effector: frame of the end-effector wrench.
        tools: frames of further wrench ports, with spaces or commas between.
        locked_joints: joints to lock, ``name`` or ``name=position``, with spaces or commas between.
        inertia: what is done about inertias that no rigid body has, as for
            :meth:`VMSModel.from_urdf`: auto, strict, repair or as_given.
        gravity: three numbers, m/s^2, in the inertial frame, with spaces or commas between.
        initial_positions: initial joint positions, rad or m, ``name=position``.
        friction: path of a YAML file with the friction of the joints, in place of that of the URDF,
            see :mod:`.friction_file`.
        actuators: of the base: ``own`` for those of a bundled robot or of the description, or the
            path of a file like those in config/actuators, with which it is simulated; ``ideal`` for
            a base that applies any wrench. Empty: laws know the limits of the robot's own actuators
            where it has them by default, and the simulated base applies what they command.
        current: velocity of the water around the robot, three numbers, m/s, in the inertial frame.
        wheels: radii of the wheels of a planar base that do not slip, by the joints that turn them,
            ``name=radius``, m.
    """

    robot: str = ""
    base: str = ""
    end_effector: str = ""
    tools: str = ""
    locked_joints: str = ""
    inertia: str = ""
    gravity: str = ""
    initial_positions: str = ""
    friction: str = ""
    actuators: str = ""
    current: str = ""
    wheels: str = ""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the settings."""
        return tuple(field.name for field in fields(cls))

    def with_changes(self, changes: Mapping[str, str]) -> "RobotSettings":
        """Return these settings with those of ``changes`` that are not empty."""
        return replace(self, **{k: v for k, v in changes.items() if k in self.names() and v})

    def for_task(self, task: "Task | None") -> "RobotSettings":
        """Return these settings, with the initial positions of a scene's task for this robot.

        Positions that are set already stay.
        """
        if task is None or task.robot != self.robot or self.initial_positions:
            return self
        return replace(self, initial_positions=assignments(task.initial_positions))

    @property
    def is_bundled(self) -> bool:
        """Whether the robot is given by its name."""
        return self.robot in robots.names()

    @property
    def is_file(self) -> bool:
        """Whether the robot is given by the path of a file, which need not be there."""
        path = self.robot.split(":=")[0]
        return path.endswith(_SUFFIXES) or "/" in path or path != self.robot

    @property
    def are_defaults(self) -> bool:
        """Whether nothing but the robot is chosen."""
        return all(getattr(self, name) in ("", "auto") for name in self.names() if name != "robot")

    def description(self, warn: Any = None) -> str:
        """Return the URDF text of the robot.

        Args:
            warn: called with each warning about a file of the user, or None.

        Raises:
            VmsPhError: no such robot or file, or an invalid robot description.
        """
        from ..descriptions.packages import with_file_addresses
        from ..descriptions.urdf import read_urdf, require_sound

        if not self.is_file:
            return self._with_friction(robots.get(self.robot).description(), warn)
        xml = read_urdf(self.robot)
        for warning in require_sound(xml, Path(self.robot).name):
            if warn is not None:
                warn(warning)
        return self._with_friction(with_file_addresses(xml), warn)

    def _with_friction(self, description: str, warn: Any = None) -> str:
        from ..settings.friction_file import with_friction

        if not self.friction:
            return description
        return with_friction(description, Path(self.friction), warn)

    def model(self, description: str) -> "VMSModel":
        """Return the model of a description.

        Raises:
            VmsPhError: a setting is not valid, or does not fit the robot.
        """
        from vms_ph_dynamics import VMSModel

        if self.base not in ("", *BASES):
            raise OptionError(f"base must be one of {', '.join(BASES)}; given: '{self.base}'")
        base = "" if self.base == "auto" else self.base
        # The topic robot_description may have the friction of the URDF.
        description = self._with_friction(description)
        options: dict[str, Any] = {
            "locked_joints": named_numbers(self.locked_joints, "locked_joints"),
            "inertia": self.inertia or "auto",
        }
        if self.gravity:  # else that of the robot, or of the description
            options["gravity"] = _vec3(self.gravity, "gravity")
        end_effector = self.end_effector or None
        if self.is_bundled:
            model = robots.get(self.robot).model(description, base or None, end_effector, **options)
        else:
            model = VMSModel.from_urdf(description, base or "auto", end_effector, **options)  # type: ignore[arg-type]
        return model.with_tools(_words(self.tools))

    def initial_configuration(self, model: "VMSModel") -> "Array":
        """Return the configuration in which a simulation begins, (nq,): home, but for what is set.

        Raises:
            VmsPhError: a joint is unknown, or a position is not a number.
        """
        home_positions = model.joint_positions(model.home)
        positions = dict(zip(model.joint_names, home_positions.tolist(), strict=True))
        for name, value in named_numbers(self.initial_positions, "initial_positions", True).items():
            if name not in model.joint_names:
                raise OptionError(
                    f"initial_positions: '{name}' is no joint of '{model.name}'"
                    f"{did_you_mean(name, model.joint_names)}; its joints are "
                    f"{', '.join(model.joint_names)}"
                )
            positions[name] = value
        return model.configuration(positions, model.home[: model.nq_base].tolist())

    def on_floor(self) -> bool:
        """Return whether the robot is simulated with a floor."""
        return self.is_bundled and robots.get(self.robot).on_floor

    def allocation(self, description: str = "") -> "Allocation | None":
        """Return the allocation of the actuators of the base, or None for an ideal one.

        Args:
            description: as for :meth:`chosen_actuators`.

        Raises:
            VmsPhError: the actuators that are chosen cannot be loaded.
        """
        actuators = self.known_actuators(description)
        return None if actuators is None else actuators.allocation

    def known_actuators(self, description: str = "") -> "Actuators | None":
        """Return the actuators whose limits laws know, or None for an ideal base.

        Args:
            description: as for :meth:`chosen_actuators`.

        Raises:
            VmsPhError: the actuators that are chosen cannot be loaded.
        """
        if self.actuators:
            return self.chosen_actuators(description)
        if not self.is_bundled or self.base not in ("", "auto", robots.get(self.robot).base):
            return None
        robot = robots.get(self.robot)
        return None if robot.ideal else robot.own_actuators()

    def water_current(self, model: "VMSModel") -> "WaterCurrent | None":
        """Return the current of the water around the robot, or None for water at rest.

        Raises:
            OptionError: it is not three finite numbers, or not horizontal, or the robot is not in
                water.
        """
        current_velocity = _vec3(self.current, "current")
        if current_velocity is None or not any(current_velocity):
            return None
        import numpy as np

        from vms_ph_dynamics.simulation import WaterCurrent

        velocity = np.array(current_velocity)
        # The energies of nodes have the height over ground, that over the water being the same.
        if not np.isfinite(velocity).all() or velocity @ model.gravity != 0.0:
            raise OptionError(
                f"current must be horizontal, three numbers in m/s; given: '{self.current}'"
            )
        current = WaterCurrent(velocity)
        current.check(model)
        return current

    def wheel_form(self, model: "VMSModel") -> "NonholonomicForm | None":
        """Return the robot on its wheels that do not slip, or None without any.

        Raises:
            VmsPhError: the base is not planar, a joint turns no wheel, or a radius is not positive.
        """
        if not (radii := named_numbers(self.wheels, "wheels", True)):
            return None
        from vms_ph_dynamics.nonholonomic import wheeled_form

        if self.actuators not in ("", "ideal"):
            raise OptionError(
                f"actuators:={self.actuators} drive a base that can move in every direction; one "
                f"on wheels:={self.wheels} is driven by their joints, leave actuators empty"
            )
        return wheeled_form(model, radii)

    def chosen_actuators(self, description: str = "") -> "Actuators | None":
        """Return the actuators with which the base is simulated, or None for an ideal base.

        Args:
            description: URDF text of the robot, where it is at hand; its own actuators are those
                of a bundled robot, else of its element ``<vms_ph_actuators>``.

        Raises:
            OptionError: the robot has no actuators of its own, or there is no such file.
            ModelError: they are not valid.
        """
        from ..descriptions.urdf import read_urdf
        from ..settings.actuators_file import TAG, actuators_of_urdf, load_actuators

        if self.actuators in ("", "ideal"):
            return None
        if self.actuators == "own":
            if self.is_bundled:
                return robots.get(self.robot).own_actuators()
            if not description and self.is_file:
                description = read_urdf(self.robot)
            actuators = actuators_of_urdf(description) if description else None
            if actuators is None:
                raise OptionError(
                    f"'{self.robot}' is no bundled robot, and has no actuators of its own; give "
                    f"its description an element <{TAG}>, or the path of a file, see "
                    "docs/actuators.md"
                )
            return actuators
        file = resolve(self.actuators)
        file = None if file is None else Path(os.path.expanduser(file))
        if file is None or not file.is_file():
            raise OptionError(
                f"actuators must be own, ideal or the path of a file; given: '{self.actuators}'"
            )
        return load_actuators(file)


def assignments(values: Mapping[str, float]) -> str:
    """Return the text of a setting with a number for each of some joints."""
    return " ".join(f"{name}={value!r}" for name, value in values.items())


def from_arguments(text: str) -> dict[str, str]:
    """Return the launch arguments in a text like ``base=floating; gravity=0 0 -1.62``.

    A path may contain ; unless a name and = follow.

    Raises:
        OptionError: a part is not of the form name=value.
    """
    arguments: dict[str, str] = {}
    name = ""
    for argument in text.split(";"):
        key, separator, value = argument.strip().partition("=")
        if separator and key.strip().isidentifier():
            name = key.strip()
            arguments[name] = value.strip()
        elif "/" in arguments.get(name, ""):
            arguments[name] += f";{argument}".rstrip()
        elif argument.strip():
            raise OptionError(
                f"launch arguments are name=value with ; between; given: '{argument.strip()}'"
            )
    return arguments


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _vec3(text: str, setting: str) -> tuple[float, float, float] | None:
    if not text:
        return None
    unit, example = ("m/s^2", "0 0 -9.81") if setting == "gravity" else ("m/s", "0.2 0.1 0")
    try:
        x, y, z = (float(word) for word in _words(text.strip("[]()")))
    except ValueError:
        raise OptionError(
            f"{setting} must be three numbers in {unit}, like {example}; given: '{text}'"
        ) from None
    return x, y, z


def named_numbers(text: str, setting: str, needs_value: bool = False) -> dict[str, float]:
    """Return the numbers in a text such as "elbow wrist=1.2" by name, zero where one has none.

    Raises:
        OptionError: a word has another form.
    """
    value_by_joint = {}
    for word in _words(text):
        name, separator, value = word.partition("=")
        try:
            number = float(value) if separator else 0.0
            if not name or (needs_value and not separator) or not math.isfinite(number):
                raise ValueError
        except ValueError:
            form = "name=number" if needs_value else "name or name=number"
            text = f"{setting} must be {form}, with blanks or commas between; given: '{word}'"
            raise OptionError(text) from None
        if name in value_by_joint:
            raise OptionError(f"{setting} names {name} twice; given: '{word}' too")
        value_by_joint[name] = number
    return value_by_joint
