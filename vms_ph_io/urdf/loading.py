"""Loading of models from URDF and xacro files."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal
from xml.parsers.expat import ExpatError

import xacro

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.errors import ModelError, VmsPhError
from vms_ph_dynamics.model import GRAVITY

from .checks import UrdfWarning, require_sound


class _Arguments(dict[str, str]):
    """Arguments for xacro that record which of them xacro uses."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def read_urdf(path: str | Path, xacro_arguments: Mapping[str, str] | None = None) -> str:
    """Return the URDF text of a file; files with the suffix .xacro are processed first.

    Args:
        path: path of a URDF or xacro file.
        xacro_arguments: values of ``<xacro:arg>``.

    Raises:
        VmsPhError: no such file, an unreadable file, a xacro error, or an unknown argument.
    """
    file = Path(path)
    try:
        is_there = file.is_file()
    except OSError as error:  # a name that no file can have
        raise VmsPhError(f"{str(path)[:80]} is not the path of a file: {error.strerror}") from None
    if not is_there:
        raise VmsPhError(f"there is no file {file}; give the path of a URDF or xacro file")
    given = _Arguments(xacro_arguments or {})
    try:
        if file.suffix == ".xacro":
            text = str(xacro.process_file(str(file), mappings=given).toxml())
        else:
            text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise VmsPhError(f"{file} cannot be read: {error}") from None
    except (xacro.XacroException, ExpatError) as error:
        raise ModelError(f"{file} is not a xacro file that can be processed: {error}") from None
    except RecursionError:
        raise ModelError(
            f"{file} is not a xacro file that can be processed: a macro, a file or an element "
            "contains itself, or they are nested too deeply"
        ) from None
    unknown = sorted(given.keys() - given.asked)
    if unknown:
        known = (
            f"its arguments are {', '.join(sorted(given.asked))}" if given.asked else "it has none"
        )
        raise ModelError(f"{file.name} has no argument '{unknown[0]}'; {known}")
    return text


def load_urdf(
    path: str | Path,
    base: Literal["auto", "fixed", "planar", "floating"] = "auto",
    end_effector: str | None = None,
    gravity: Sequence[float] = GRAVITY,
    locked_joints: Iterable[str] | Mapping[str, float] = (),
    xacro_arguments: Mapping[str, str] | None = None,
) -> VMSModel:
    """Return the model of the robot in a URDF or xacro file.

    The keywords are those of :meth:`VMSModel.from_urdf`. Unreadable meshes cause warnings.

    Raises:
        VmsPhError: no such file.
        ModelError: the URDF has errors; the message lists all of them.
    """
    xml = read_urdf(path, xacro_arguments)
    for warning in require_sound(xml, Path(path).name):
        warnings.warn(f"{path}: {warning}", UrdfWarning, stacklevel=2)
    return VMSModel.from_urdf(xml, base, end_effector, gravity, locked_joints)
