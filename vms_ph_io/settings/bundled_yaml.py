# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bundled YAML files by name, and files of users by path: scenes, tasks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from vms_ph_dynamics.errors import ModelError, OptionError, StateError

from ..share import share_directory
from .yaml_text import YamlError, read_yaml

_Content = TypeVar("_Content")


def bundled_names(folder: str) -> tuple[str, ...]:
    """Return the names of the YAML files in a folder of the share directory."""
    return tuple(sorted(path.stem for path in (share_directory() / folder).glob("*.yaml")))


def load_named(
    name: str, folder: str, kind: str, read: Callable[[str, Any], _Content], hint: str = ""
) -> _Content:
    """Return what a bundled file, or a file of a user, contains.

    Args:
        name: of a bundled file, or path of a YAML file.
        folder: of the bundled ones, in the share directory.
        kind: they are called in messages.
        read: from the name of the file and its content.
        hint: added to the message about an unknown name.

    Raises:
        OptionError: there is no such file.
        ModelError: the file does not have the format.
    """
    path = Path(name).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        bundled = bundled_names(folder)
        if name not in bundled:
            raise OptionError(
                f"there is no {kind} '{name}'; there are {', '.join(bundled)}, and the path of a "
                f"YAML file is accepted{hint}"
            )
        path = share_directory() / folder / f"{name}.yaml"
    elif not path.is_file():
        raise OptionError(f"there is no file {path}")
    try:
        return read(path.stem, read_yaml(path))
    except (ModelError, StateError, YamlError) as error:
        raise ModelError(f"{path} is not a valid {kind}: {error}") from None
