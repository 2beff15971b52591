"""Loading of models from URDF and xacro files."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.errors import ModelError, VmsPhError
from vms_ph_dynamics.model import GRAVITY
from vms_ph_dynamics.robot import InertiaMode

from ..text_files import read_text
from .checks import UrdfWarning, require_sound
from .srdf import with_srdf
from .xacro_text import process_xacro


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
    except (OSError, ValueError) as error:  # a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise VmsPhError(f"{str(path)[:80]!r} is not the path of a file: {reason}") from None
    if not is_there:
        raise VmsPhError(f"there is no file {file}; give the path of a URDF or xacro file")
    try:
        if file.suffix == ".xacro":
            return process_xacro(file, xacro_arguments or {})
        text = read_text(file)
    except OSError as error:
        raise VmsPhError(f"{file} cannot be read: {error}") from None
    if xacro_arguments:
        raise ModelError(f"{file.name} has no argument '{min(xacro_arguments)}'; it has none")
    return text


def load_urdf(
    path: str | Path,
    base: Literal["auto", "fixed", "planar", "floating"] = "auto",
    end_effector: str | None = None,
    gravity: Sequence[float] = GRAVITY,
    locked_joints: Iterable[str] | Mapping[str, float] = (),
    xacro_arguments: Mapping[str, str] | None = None,
    inertia: InertiaMode = "auto",
    tools: Iterable[str] = (),
    srdf: str | Path | None = None,
) -> VMSModel:
    """Return the model of the robot in a URDF or xacro file.

    The keywords are those of :meth:`VMSModel.from_urdf`. Unreadable meshes cause warnings. With an
    SRDF, its first end effector is the one of the model, unless another is given, and the others
    are tools.

    Raises:
        VmsPhError: no such file.
        ModelError: the URDF has errors; the message lists all of them.

    Warns:
        UrdfWarning: meshes that cannot be read.
        InertiaWarning: inertias that were repaired.
    """
    xml = read_urdf(path, xacro_arguments)
    for warning in require_sound(xml, Path(path).name):
        warnings.warn(f"{path}: {warning}", UrdfWarning, stacklevel=2)
    if srdf is not None:
        end_effector, tools = with_srdf(srdf, end_effector, tools)
    try:
        return VMSModel.from_urdf(xml, base, end_effector, gravity, locked_joints, inertia, tools)
    except ModelError as error:
        raise ModelError(f"{Path(path).name}: {error}") from None
