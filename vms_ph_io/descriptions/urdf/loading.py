# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Loading of models from URDF, xacro and MJCF files."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal
from xml.parsers import expat

from vms_ph_dynamics import ModelError, VMSModel, VmsPhError
from vms_ph_dynamics.robot import InertiaMode

from ...settings.bounded_text import read_text
from ..mjcf import mjcf_to_urdf
from ..packages import resolve, with_neighbours
from .checks import UrdfWarning, require_sound
from .xacro_text import process_xacro

_XACRO = ("http://www.ros.org/wiki/xacro", "http://wiki.ros.org/xacro", "http://ros.org/wiki/xacro")


def kind_of(text: str, path: Path) -> str:
    """Return the kind of a description: URDF, xacro or MJCF.

    Text that is not well-formed counts up to its error.

    Args:
        text: content of the file.
        path: its path, of which only the suffix .xacro matters.
    """
    tags: list[str] = []
    namespaces: set[str] = set()

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        tags.append(tag)
        namespaces.update(name.rpartition(" ")[0].rstrip("/#") for name in (tag, *attributes))

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = start_element
    with suppress(expat.ExpatError, ValueError, LookupError):
        parser.Parse(text, True)
    has_macros = not namespaces.isdisjoint(_XACRO)
    if tags[:1] == ["mujoco"] and not has_macros:
        return "MJCF"
    return "xacro" if has_macros or path.suffix == ".xacro" else "URDF"


def split_arguments(address: str | Path) -> tuple[str, dict[str, str]]:
    """Split ``"arm.xacro name:=value name:=value"`` into the path and the arguments of xacro."""
    words = str(address).split(" ")
    first_argument = next((k for k, word in enumerate(words) if ":=" in word), len(words))
    pairs = (word.partition(":=") for word in words[first_argument:] if word)
    return " ".join(words[:first_argument]), {name: value for name, _, value in pairs}


def read_urdf(path: str | Path, xacro_arguments: Mapping[str, str] | None = None) -> str:
    """Return the URDF text of a file; xacro is processed, and MJCF converted.

    The content determines the kind of file: the root element ``<mujoco>`` is that of MJCF, and
    elements of xacro are processed under any name. The suffix .xacro is that of xacro in any case.

    Args:
        path: path of a URDF, xacro or MJCF file; arguments of xacro may follow it as name:=value.
        xacro_arguments: values of ``<xacro:arg>``.

    Raises:
        VmsPhError: no such file, an unreadable file, a xacro error, or an unknown argument.
    """
    path, path_arguments = split_arguments(path)
    xacro_arguments = {k: str(v) for k, v in {**path_arguments, **(xacro_arguments or {})}.items()}
    file = existing_file(path)
    try:
        kind = kind_of(text := read_text(file), file)
        if kind == "xacro":
            return with_neighbours(process_xacro(file, xacro_arguments), file)
        if kind == "MJCF":
            text = mjcf_to_urdf(file)
    except OSError as error:
        raise VmsPhError(f"{file} cannot be read: {error}") from None
    if xacro_arguments:
        raise ModelError(f"{file.name} has no argument '{min(xacro_arguments)}'; it has none")
    return with_neighbours(text, file)


def existing_file(path: str | Path) -> Path:
    """Return the path of a robot description, which is that of a file or begins with package://.

    Raises:
        VmsPhError: no such file or package, or a path that no file can have.
    """
    if str(path).startswith("package://"):
        location, (package, _, subpath) = resolve(str(path)), str(path)[10:].partition("/")
        if location is None or not location.is_file():
            cause = f"'{subpath}' is not in it" if location else f"there is no package '{package}'"
            raise VmsPhError(
                f"{path} is needed, but {cause}; source the ROS 2 workspace that has it, install "
                "its Python package, or give the path of a description"
            )
        path = location
    file = Path(path)
    try:
        exists = file.is_file()
    except (OSError, ValueError) as error:  # a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise VmsPhError(f"{str(path)[:80]!r} is not the path of a file: {reason}") from None
    if not exists:
        text = f"there is no file {str(file)[:200]}; give the path of a URDF, xacro or MJCF file. "
        text += "robots.load(name) loads a bundled robot, VMSModel.from_urdf(text) a text"
        raise VmsPhError(text)
    return file


def load_urdf(
    path: str | Path,
    base: Literal["auto", "fixed", "planar", "floating"] = "auto",
    end_effector: str | None = None,
    gravity: Sequence[float] | None = None,
    locked_joints: Iterable[str] | Mapping[str, float] = (),
    xacro_arguments: Mapping[str, str] | None = None,
    inertia: InertiaMode = "auto",
    tools: Iterable[str] = (),
) -> VMSModel:
    """Return the model of the robot in a URDF, xacro or MJCF file.

    Unreadable meshes cause warnings, and so does what an MJCF has and the model has not.

    Args:
        path: path of a URDF, xacro or MJCF file.
        base: kind of base; this and the other keywords are those of :meth:`VMSModel.from_urdf`.
        end_effector: a link or joint name.
        gravity: (3,) in the inertial frame, m/s^2.
        locked_joints: names of joints to fix, or names with positions, rad or m.
        xacro_arguments: values of ``<xacro:arg>``.
        inertia: what is done about inertias that no rigid body has.
        tools: links or joints of further wrench ports.

    Raises:
        VmsPhError: no such file.
        ModelError: the URDF has errors; the message lists all of them.

    Warns:
        UrdfWarning: meshes that cannot be read.
        InertiaWarning: inertias that were repaired.

    Examples:
        >>> from vms_ph_io import robots
        >>> load_urdf(robots.get("panda").path(), base="floating").nv
        14
    """
    xml = read_urdf(path, xacro_arguments)
    for warning in require_sound(xml, Path(path).name):
        warnings.warn(f"{path}: {warning}", UrdfWarning, stacklevel=2)
    try:
        return VMSModel.from_urdf(xml, base, end_effector, gravity, locked_joints, inertia, tools)
    except ModelError as error:
        raise ModelError(f"{Path(path).name}: {error}") from None
