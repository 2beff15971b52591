# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From an MJCF file to MuJoCo's compiled model, without what only draws or collides.

MuJoCo reads the file itself: defaults, includes, frames, replicates, attached models, angles in
degrees, Euler sequences and inertia from geometry follow its own rules. A mesh is read only where
it gives a body its inertia; a mesh that is merely drawn may be missing.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vms_ph_dynamics import ModelError, VmsPhError

from .bounds import check_bounds, require_file

_NAME_PREFIX = "geom "


@dataclass(frozen=True)
class Appearance:
    """How a geom is drawn.

    Attributes:
        rgba: (4,) its colour.
        mesh: path of its mesh; empty for primitive shapes.
        scale: (3,) of the mesh.
        is_centred: whether MuJoCo has moved the vertices of the mesh to their centre.
    """

    rgba: tuple[float, ...]
    mesh: str = ""
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    is_centred: bool = False


@dataclass(frozen=True)
class CompiledModel:
    """MuJoCo's model of a file.

    Attributes:
        model: a ``mujoco.MjModel``.
        appearances: how its geoms are drawn, by name.
        name: of the model in the file.
    """

    model: Any
    appearances: dict[str, Appearance]
    name: str


def import_mujoco() -> Any:
    """Return the module ``mujoco``.

    Raises:
        VmsPhError: it is not installed.
    """
    try:
        import mujoco
    except ImportError as error:
        raise VmsPhError(
            f"MJCF files are read by MuJoCo, which cannot be imported ({error}); install it with "
            "pip install 'vms-ph[mjcf]'"
        ) from None
    if not hasattr(mujoco, "MjSpec") or not hasattr(mujoco.MjSpec, "delete"):
        text = f"MJCF files require MuJoCo 3.3 or later; installed is {mujoco.__version__}; "
        text += "pip install 'vms-ph[mjcf]' installs it"
        raise VmsPhError(text)
    return mujoco


def compile_mjcf(path: Path) -> CompiledModel:
    """Return MuJoCo's model of an MJCF file.

    Raises:
        VmsPhError: a file cannot be read, or MuJoCo is not installed.
        ModelError: the file exceeds a bound, or MuJoCo refuses it.
    """
    try:
        check_bounds(path)
    except ModelError as error:
        has_file_name = str(error).startswith(path.name)
        raise ModelError(str(error) if has_file_name else f"{path.name}: {error}") from None
    mujoco = import_mujoco()
    # Everything that MuJoCo raises about a file, whose texts have several lines.
    try:
        spec = mujoco.MjSpec.from_file(os.path.abspath(path))
        appearances = _extract_appearances(mujoco, spec)
        model = spec.compile()
    except ModelError:  # is a ValueError, too
        raise
    except (ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()) or repr(error)
        raise ModelError(f"{path.name} cannot be compiled by MuJoCo: {reason}") from None
    has_name = spec.modelname not in ("", "MuJoCo Model")
    return CompiledModel(model, appearances, spec.modelname if has_name else path.stem)


def _extract_appearances(mujoco: Any, spec: Any) -> dict[str, Appearance]:
    """Remove from a ``mujoco.MjSpec`` what the dynamics do not need; return how it is drawn."""
    spec.compiler.discardvisual = False  # its meshes are drawn
    spec.nkey = spec.nuserdata = 0
    spec.compiler.LRopt.mode = 0  # length ranges of muscles, whose search may fail
    for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor"):
        setattr(spec, f"nuser_{kind}", -1)
    colours = {m.name: tuple(m.rgba.tolist()) for m in spec.materials}
    meshes = {mesh.name or Path(mesh.file).stem: mesh for mesh in spec.meshes}
    geom_types = mujoco.mjtGeom
    appearances, inertia_meshes = {}, set()
    for i, geom in enumerate(list(spec.geoms)):
        # Names are needed afterwards; those of geoms that pairs refer to are kept.
        if not geom.name:
            geom.name = f"{_NAME_PREFIX}{i}"
        rgba = tuple(geom.rgba.tolist())
        if geom.material and rgba == (0.5, 0.5, 0.5, 1.0):
            rgba = colours.get(geom.material, rgba)
        geom.material = ""
        appearances[geom.name] = Appearance(rgba)
        mesh = meshes.get(geom.meshname)
        if geom.type == geom_types.mjGEOM_HFIELD:
            geom.type, geom.hfieldname, geom.size = geom_types.mjGEOM_SPHERE, "", [1.0, 0.0, 0.0]
        if mesh is None:
            continue
        gives_inertia = _gives_inertia(mujoco, spec, geom)
        folder = Path(spec.modelfiledir, spec.compiler.meshdir or "")
        file = os.path.abspath(folder / mesh.file) if mesh.file else ""
        appearances[geom.name] = Appearance(rgba, file, tuple(mesh.scale.tolist()), gives_inertia)
        if gives_inertia:
            inertia_meshes.add(geom.meshname)
            if file and os.path.exists(file):
                require_file(Path(file))
            continue
        geom.type, geom.meshname, geom.size = geom_types.mjGEOM_SPHERE, "", [1.0, 0.0, 0.0]
        geom.mass = 0.0
    for element in (*spec.sites, *spec.tendons):
        element.material = ""
    for unused_element in [*spec.skins, *spec.sensors, *spec.hfields, *spec.textures]:
        spec.delete(unused_element)
    for name, mesh in meshes.items():
        mesh.material = ""
        if name not in inertia_meshes:
            spec.delete(mesh)
    for material in list(spec.materials):
        spec.delete(material)
    return appearances


def _gives_inertia(mujoco: Any, spec: Any, geom: Any) -> bool:
    """Return whether a geom contributes to the inertia of its body."""
    body, compiler = geom.parent, spec.compiler
    if body.name == "world" or geom.mass == 0.0 or (geom.mass != geom.mass and geom.density == 0.0):
        return False
    first_group, last_group = compiler.inertiagrouprange
    if not first_group <= geom.group <= last_group:
        return False
    modes = mujoco.mjtInertiaFromGeom
    if compiler.inertiafromgeom == modes.mjINERTIAFROMGEOM_AUTO:
        return not body.explicitinertial
    return bool(compiler.inertiafromgeom == modes.mjINERTIAFROMGEOM_TRUE)
