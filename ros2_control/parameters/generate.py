# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Writes the parameter schemas of the C++ laws from the gains of their Python counterparts.

``python ros2_control/parameters/generate.py`` writes the files. The gains are declared once in each
language: in the record ``Gains`` of the Python law and in the ``GainTable`` of the C++ law. A test
compares both, and another that the files here are up to date.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

import yaml

from vms_ph_controllers import (
    AttitudeControl,
    CartesianImpedance,
    DecoupledVMSController,
    DifferentialDrive,
    MobileManipulation,
    PoseIDAPBC,
    PushingImpedance,
    ResolvedMotion,
    TaskSpaceIDAPBC,
    UnderactuatedFlight,
    WheeledImpedance,
)
from vms_ph_controllers.guard import EnergyGuardSettings

FOLDER = Path(__file__).parent


class EnergyGuard:
    """Stands for the energy guard, whose settings are parameters as the gains of a law are."""

    Gains: ClassVar[type] = EnergyGuardSettings


LAWS: dict[str, type] = {
    "attitude_control": AttitudeControl,
    "decoupled_vms_controller": DecoupledVMSController,
    "differential_drive": DifferentialDrive,
    "cartesian_impedance": CartesianImpedance,
    "energy_guard_settings": EnergyGuard,
    "mobile_manipulation": MobileManipulation,
    "pose_ida_pbc": PoseIDAPBC,
    "pushing_impedance": PushingImpedance,
    "resolved_motion": ResolvedMotion,
    "task_space_ida_pbc": TaskSpaceIDAPBC,
    "underactuated_flight": UnderactuatedFlight,
    "wheeled_impedance": WheeledImpedance,
}


class _Bounds(list[float]):
    """Bounds, which are written in one line."""


class _Dumper(yaml.SafeDumper):
    """Writes bounds in one line and all else in blocks."""


_Dumper.add_representer(
    _Bounds,
    lambda dumper, bounds: dumper.represent_sequence(
        "tag:yaml.org,2002:seq", bounds, flow_style=True
    ),
)


def schema(name: str) -> str:
    """Return the text of the schema of a law, for generate_parameter_library."""
    law: Any = LAWS[name]
    title = (
        f"# The gains of vms_ph/{law.__name__}, written by generate.py from those of\n"
        f"# vms_ph_controllers.{law.__name__}; change them there and in the GainTable of the C++\n"
        "# law, not here.\n"
    )
    content = {name: {item.name: _parameter(item) for item in fields(law.Gains)}}
    return title + yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=100)


def _parameter(item: Any) -> dict[str, Any]:
    is_switch = isinstance(item.default, bool)
    parameter = {
        "type": "bool" if is_switch else "double",
        "default_value": item.default,
        "description": item.metadata["description"],
    }
    if not is_switch:
        bounds = _Bounds([float(item.metadata["low"]), float(item.metadata["high"])])
        parameter["validation"] = {"bounds<>": bounds}
    return parameter


if __name__ == "__main__":
    for law_name in LAWS:
        (FOLDER / f"{law_name}.yaml").write_text(schema(law_name))
