# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pattern files: systems of exergetic components in YAML."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from vms_ph_dynamics import VmsPhError
from vms_ph_io.settings.bounded_text import (
    MAX_YAML_CHARACTERS,
    YamlError,
    read_yaml,
    writing,
)

if TYPE_CHECKING:
    from .. import System

SUFFIXES = (".yaml", ".yml")

_MODEL_KEYS = ("base", "gravity", "locked_joints", "tools", "open_bodies", "springs")
_HEAT_KEYS = ("capacity", "conductance", "theta_0")
_ROBOT_KEYS = ("urdf", *_MODEL_KEYS, *_HEAT_KEYS)


def is_pattern_file(path: str | Path) -> bool:
    """Return whether a path is that of a YAML file that exists."""
    return Path(path).suffix in SUFFIXES and os.path.isfile(path)


def load_system(path: str | Path) -> "System":
    """Return the system of a pattern file; robots are found beside the file.

    Raises:
        VmsPhError: the file cannot be read, or a box or connection is invalid; the message says
            which.
    """
    from ..notation import build

    folder = Path(path).parent
    try:
        return build(read_yaml(path), {"robot": lambda values: _robot_system(values, folder)})
    except YamlError:
        raise
    except VmsPhError as error:
        raise VmsPhError(f"{path}: {error}") from None


def pattern_text(data: Any) -> str:
    """Return the text of a pattern file, from which :func:`.parse_yaml` gives the same data."""
    return yaml.dump(
        _plain(data), Dumper=_AnchorlessDumper, sort_keys=False, default_flow_style=None, width=100,
        allow_unicode=True,
    )  # fmt: skip


def save_pattern(data: Any, path: str | Path) -> None:
    """Write data to a pattern file.

    Raises:
        VmsPhError: the file cannot be written, or is too large to be read again.
    """
    text = pattern_text(data)
    if len(text) > MAX_YAML_CHARACTERS:
        raise VmsPhError(
            f"the system has {len(text)} characters as YAML; at most {MAX_YAML_CHARACTERS} can be "
            "read again; write its parts to files of their own"
        )
    with writing(Path(path)):
        Path(path).write_text(text, encoding="utf-8")


class _AnchorlessDumper(yaml.SafeDumper):
    """PyYAML's dumper without anchors: a value that stands twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True."""
        return True


def _plain(data: Any) -> Any:
    """Return data whose mappings and sequences are dictionaries and lists, as YAML writes them."""
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    return data


def _robot_system(parameters: Mapping[str, Any], folder: Path) -> "System":
    """Return the system of a robot by its name or the path of its description."""
    from vms_ph_io import robots
    from vms_ph_io.descriptions.urdf import read_urdf

    from .. import multibody as mb

    for key in parameters:
        if key not in _ROBOT_KEYS:
            raise VmsPhError(
                f"a robot has no parameter {key!r}; its parameters are {', '.join(_ROBOT_KEYS)}"
            )
    name = parameters.get("urdf")
    if not isinstance(name, str):
        raise VmsPhError(
            "a robot needs the parameter 'urdf': the path of a URDF, xacro or MJCF file, or one "
            f"of {', '.join(robots.names())}; given: {name!r}"
        )
    options = {key: parameters[key] for key in _MODEL_KEYS if key in parameters}
    fluid = None
    if name in robots.names():
        robot = robots.get(name)
        text = robot.description()
        options = {"base": robot.base, "gravity": robot.gravity, **options}
        fluid = robots.load(name).fluid if robot.fluid else None
    else:
        path = folder / os.path.expanduser(name)
        if not path.is_file():
            raise VmsPhError(
                f"there is no robot {name!r}; give a path relative to the pattern file, or one of "
                f"{', '.join(robots.names())}"
            )
        text = read_urdf(path, {})
    heat = {key: parameters[key] for key in _HEAT_KEYS if key in parameters}
    return mb.from_urdf(text, **options, fluid=fluid, heat=mb.Heat(**heat) if heat else None)
