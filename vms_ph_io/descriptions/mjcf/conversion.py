# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From an MJCF file to URDF text, by MuJoCo in this process."""

from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics.errors import ModelError

from .compiling import compile_mjcf, import_mujoco
from .description import urdf_equivalent
from .left_out import left_out
from .notes import MjcfNotes
from .tree import FREE, Tree, joints_of, robot_tree

_NUMBERS = (
    "body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia", "jnt_pos",
    "jnt_axis", "jnt_range", "jnt_actfrcrange", "jnt_stiffness", "dof_armature", "dof_damping",
    "dof_frictionloss", "qpos0", "qpos_spring", "key_qpos", "geom_pos", "geom_quat", "geom_size",
    "site_pos", "site_quat", "mesh_pos", "mesh_quat", "actuator_gear", "actuator_forcerange",
)  # fmt: skip


def convert(file: Path) -> str:
    """Return the URDF equivalent of an MJCF file; see :func:`.mjcf_to_urdf`.

    Raises:
        OSError: the file cannot be read.
        VmsPhError: MuJoCo is not installed.
        ModelError: MuJoCo refuses the file, or the robot in it is not covered.
    """
    compiled = compile_mjcf(file)
    mujoco, m = import_mujoco(), compiled.model
    try:
        _require_finite(m)
        tree = robot_tree(m)
    except ModelError as error:
        raise ModelError(f"{file.name}: {error}") from None
    return urdf_equivalent(mujoco, compiled, tree, _notes(mujoco, m, tree))


def _notes(mujoco: Any, m: Any, tree: Tree) -> MjcfNotes:
    weightless = int(m.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    x, y, z = (0.0, 0.0, 0.0) if weightless else m.opt.gravity.tolist()
    qpos = _home(m)
    home: dict[str, float] = {}
    base: tuple[float, ...] = ()
    for body in tree.bodies:
        for j in joints_of(m, body):
            at = int(m.jnt_qposadr[j])
            if m.jnt_type[j] == FREE:
                w, *vector = qpos[at + 3 : at + 7] / np.linalg.norm(qpos[at + 3 : at + 7])
                base = tuple(float(x) for x in (*qpos[at : at + 3], *vector, w))
            elif qpos[at]:
                home[tree.joints[j]] = float(qpos[at])
    return MjcfNotes((x, y, z), home, base, tuple(left_out(mujoco, m, tree)))


def _require_finite(m: Any) -> None:
    for name in _NUMBERS:
        rows = np.asarray(getattr(m, name))
        wrong = np.flatnonzero(
            ~np.isfinite(rows.reshape(len(rows), -1 if rows.size else 0)).all(axis=1)
        )
        if len(wrong):
            raise ModelError(f"{name}[{wrong[0]}] is not finite: {rows[wrong[0]]}")


def _home(m: Any) -> Any:
    """Return the keyframe ``home``, else the first one, else the reference configuration."""
    if not m.nkey:
        return m.qpos0
    names = [m.key(k).name for k in range(m.nkey)]
    return m.key_qpos[names.index("home") if "home" in names else 0]
