# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Battery, motors and heat of a robot, of config/drives/robots.yaml or a file of its form."""

import os
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vms_ph_dynamics import ModelError, OptionError
from vms_ph_io.installation import share_directory
from vms_ph_io.settings.bounded_text import YamlError, read_yaml

from ..robot.drives import Battery, Drives, Motors, Rotors

if TYPE_CHECKING:
    from vms_ph_dynamics import Allocation, VMSModel

_ZERO_CELSIUS, _HOUR = 273.15, 3600.0
_SCALAR_KEYS = ("ambient_temperature", "softening", "idle")
_SIZING_KEYS = (
    "largest_rate",
    "speed_margin",
    "current_margin",
    "loss_share",
    "winding_rise",
    "winding_time",
    "housing_rise",
    "housing_time",
    "temperature_coefficient",
)
_SECTIONS = ("battery", "motors", "rotors", "joints")


def _keys_of(section_class: type, excluded: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the entries of a section from the fields of what it describes."""
    names = (field.name for field in fields(section_class) if field.name not in excluded)
    return tuple(
        re.sub("^(winding|housing)_capacity$", r"\1_heat_capacity", name) for name in names
    )


_JOINT_KEYS = _keys_of(Motors)
_ROTOR_KEYS = _keys_of(Rotors, ("matrix", "drag_ratio", "temperature_coefficient"))
# The charge of a battery is given as its capacity, A h.
_BATTERY_KEYS = ("capacity", *_keys_of(Battery, ("charge",)))


def load(
    model: "VMSModel", robot: str = "", path: str = "", allocation: "Allocation | None" = None
) -> Drives:
    """Return what drives a robot.

    Args:
        model: the robot.
        robot: its name, for its entry in the file.
        path: of a file; that of this project if empty.
        allocation: of its rotors, whose entry ``rotors`` then applies.

    Raises:
        OptionError: there is no such file.
        ModelError: the file is not valid, or does not suffice for this robot.
    """
    file = Path(os.path.expanduser(path or share_directory() / "config/drives/robots.yaml"))
    if not file.is_file():
        raise OptionError(
            f"there is no file {file}; leave the parameter drives empty for "
            "config/drives/robots.yaml, or give the path of a file of the same form"
        )
    try:
        content = read_yaml(file)
        _check_keys(content, "the file", ("defaults", "robots"))
        robots = content.get("robots") or {}
        _check_keys(robots, "robots", tuple(robots) if isinstance(robots, Mapping) else ())
        settings_of_robot = robots.get(robot) or {}
        settings = _with_defaults(
            content.get("defaults") or {}, settings_of_robot, f"robots: {robot}"
        )
        return _drives(model, settings, allocation)
    except (ModelError, YamlError) as error:
        raise ModelError(
            f"{file} does not describe the drives of '{model.name}': {error}"
        ) from None


def _with_defaults(defaults: Any, overrides: Any, label: str) -> dict[str, Any]:
    for settings, owner in ((defaults, "defaults"), (overrides, label)):
        _check_keys(settings, owner, (*_SCALAR_KEYS, *_SECTIONS))
    robot_settings = {
        **defaults,
        **{name: overrides[name] for name in _SCALAR_KEYS if name in overrides},
    }
    for section in _SECTIONS:
        sections = [settings.get(section) or {} for settings in (defaults, overrides)]
        for entries in sections:
            _check_keys(entries, section, _accepted_keys(section, entries))
        robot_settings[section] = {**sections[0], **sections[1]}
    return robot_settings


def _accepted_keys(section: str, section_settings: Any) -> tuple[str, ...]:
    if section == "joints":
        return tuple(section_settings) if isinstance(section_settings, Mapping) else ()
    return {"battery": _BATTERY_KEYS, "motors": _SIZING_KEYS, "rotors": _ROTOR_KEYS}[section]


def _drives(
    model: "VMSModel", settings: Mapping[str, Any], allocation: "Allocation | None"
) -> Drives:
    scalars = {name: _number(settings[name], name) for name in _SCALAR_KEYS if name in settings}
    theta_0 = _ZERO_CELSIUS + scalars.pop("ambient_temperature", 25.0)
    battery_parameters = _numbers(settings["battery"], "battery")
    if "capacity" in battery_parameters:
        battery_parameters["charge"] = _HOUR * battery_parameters.pop("capacity")
    battery = Battery(**battery_parameters)
    rotors = _rotors(settings["rotors"], allocation)
    motors = _motors(model, settings, battery.empty)
    return Drives(motors, battery, rotors, theta_0=theta_0, **scalars)


def _motors(model: "VMSModel", settings: Mapping[str, Any], voltage: float) -> Any:
    rule = _numbers(settings["motors"], "motors")
    joints = settings["joints"]
    _check_keys(joints, "joints", model.joint_names)
    columns: dict[str, list[float]] = {name: [] for name in _JOINT_KEYS}
    table = model.joints
    for k, joint in enumerate(model.joint_names):
        joint_settings = joints.get(joint) or {}
        _check_keys(joint_settings, f"joint '{joint}'", _JOINT_KEYS)
        joint_settings = _numbers(joint_settings, f"joint '{joint}'")
        if any(name not in joint_settings for name in _JOINT_KEYS):
            joint_settings = (
                _sized_motor(rule, float(table.effort[k]), float(table.velocity[k]), joint, voltage)
                | joint_settings
            )
        for name in _JOINT_KEYS:
            columns[name].append(joint_settings[name])
    return Motors(
        **{_field(name): np.array(column, dtype=np.float64) for name, column in columns.items()}
    )


def _sized_motor(
    sizing: Mapping[str, float], max_effort: float, max_rate: float, joint: str, voltage: float
) -> dict[str, float]:
    missing_keys = [name for name in _SIZING_KEYS if name not in sizing]
    if missing_keys:
        raise ModelError(f"motors lacks {', '.join(missing_keys)}, which the joint '{joint}' needs")
    if not (0.0 < max_effort < np.inf and max_rate > 0.0):
        raise ModelError(
            f"the joint '{joint}' has no largest effort and rate in its description (given: "
            f"{max_effort:g} and {max_rate:g}), from which its motor would follow; add <limit "
            f"effort=... velocity=.../>, or give {', '.join(_JOINT_KEYS)} under joints: {joint}"
        )
    max_rate = min(max_rate, sizing["largest_rate"])
    torque_constant = voltage / (sizing["speed_margin"] * max_rate)
    loss_power = sizing["loss_share"] * max_effort * max_rate
    h_winding, h_housing = loss_power / sizing["winding_rise"], loss_power / sizing["housing_rise"]
    return {
        "torque_constant": torque_constant,
        "resistance": loss_power * (torque_constant / max_effort) ** 2,
        "temperature_coefficient": sizing["temperature_coefficient"],
        "largest_current": sizing["current_margin"] * max_effort / torque_constant,
        "winding_heat_capacity": sizing["winding_time"] * h_winding,
        "winding_conductance": h_winding,
        "housing_heat_capacity": sizing["housing_time"] * h_housing,
        "housing_conductance": h_housing,
    }


def _rotors(section: Mapping[str, Any], allocation: "Allocation | None") -> Any:
    if allocation is None or not section:
        return None
    parameters = _numbers(section, "rotors")
    missing_keys = [name for name in _ROTOR_KEYS if name not in parameters]
    if missing_keys:
        raise ModelError(f"rotors lacks {', '.join(missing_keys)}")
    matrix = allocation.matrix
    axes, rotor_count = matrix[:3], matrix.shape[1]
    if len(matrix) != 6:
        raise ModelError("rotors are those of a floating base; this base is planar")
    # The reaction torque about the axis: the rest of the moment is perpendicular to it.
    drag_ratio = np.abs(np.einsum("ij,ij->j", axes, matrix[3:]))
    parameters["temperature_coefficient"] = 0.0039
    columns = {_field(name): np.full(rotor_count, value) for name, value in parameters.items()}
    return Rotors(matrix=matrix, drag_ratio=drag_ratio, **columns)


def _field(name: str) -> str:
    return name.replace("_heat_capacity", "_capacity")


def _check_keys(settings: Any, label: str, accepted: tuple[str, ...]) -> None:
    if not isinstance(settings, Mapping):
        raise ModelError(f"{label} must be a mapping; given: {settings!r}")
    unknown = [str(key) for key in settings if key not in accepted]
    if unknown:
        raise ModelError(
            f"{label} has no entry '{unknown[0]}'; accepted are {', '.join(accepted) or 'none'}"
        )


def _numbers(section: Mapping[str, Any], label: str) -> dict[str, float]:
    return {str(name): _number(value, f"{name} of {label}") for name, value in section.items()}


def _number(value: Any, label: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ModelError(f"{label} must be a finite number; given: {value!r}")
    return float(value)
