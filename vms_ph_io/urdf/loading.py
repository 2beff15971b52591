"""From a URDF or xacro file to a model."""

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
    """Arguments for xacro that note which of them it asks for."""

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
    """Return the URDF text of a file; a file whose name ends in .xacro is processed first.

    Args:
        path: of a URDF or xacro file.
        xacro_arguments: values for its ``<xacro:arg>``.

    Raises:
        VmsPhError: no such file, not readable, xacro cannot process it, or it does not know an
            argument.
    """
    file = Path(path)
    try:
        is_there = file.is_file()
    except OSError as error:  # a name that no file can have
        raise VmsPhError(f"{str(path)[:80]} is no path of a file: {error.strerror}") from None
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
        raise ModelError(f"{file.name} knows no argument '{unknown[0]}'; {known}")
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

    The keywords are those of :meth:`VMSModel.from_urdf`. Meshes that cannot be read are warned of.

    Raises:
        VmsPhError: no such file.
        ModelError: what is wrong with the URDF, by name.
    """
    xml = read_urdf(path, xacro_arguments)
    for warning in require_sound(xml, Path(path).name):
        warnings.warn(f"{path}: {warning}", UrdfWarning, stacklevel=2)
    return VMSModel.from_urdf(xml, base, end_effector, gravity, locked_joints)
