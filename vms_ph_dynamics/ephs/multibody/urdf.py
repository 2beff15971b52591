"""The pattern of a robot from its URDF."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from ...arrays import Array
from ...errors import ModelError
from ...groups import pose as pose_of
from ...robot.building import build
from ...robot.inertia import check_rotors
from ...robot.inertia_modes import InertiaMode, accept
from ...robot.joint_table import joint_table
from ...robot.joints import base_of
from ...robot.mimic import Mimic, Projection
from ..systems import System
from .body import rigid_body
from .friction import coulomb
from .joint import Heat, joint
from .mechanism import GROUND, Between, Gear, mechanism
from .pairs import LowerPair, Planar, Prismatic, Revolute

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def from_urdf(
    xml: str,
    base: str = "auto",
    gravity: Sequence[float] | None = None,
    locked_joints: Iterable[str] | Mapping[str, float] = (),
    *,
    heat: Heat | Mapping[str, Heat] | None = None,
    inertia: InertiaMode = "auto",
) -> System:
    """Return the system of bodies and joints that a URDF describes.

    Bodies are named after links, with frames at their centres of mass and the axes of the link
    frame; joints keep their names, and all are driven. Damping and friction of the URDF become
    friction with heat, and armature becomes the kinetic energy of rotors. A floating base is a free
    body with an open port.

    Args:
        xml: the URDF itself; ``vms_ph_io`` reads files and xacro.
        base: ``"auto"``, ``"fixed"``, ``"planar"`` or ``"floating"``, as for ``VMSModel``.
        gravity: (3,) in the inertial frame, m/s^2; as for ``VMSModel.from_urdf`` when None.
        locked_joints: names of joints to hold, at zero or at the value given.
        heat: destination of the heat of all joints with friction or of each by name; the
            environment when None.
        inertia: what is done about inertias that no rigid body has, as for ``VMSModel``.

    Raises:
        ModelError: the text is not a URDF, a joint type is not covered, a moving link has no mass
            or no rotational inertia about some axis, or heat is given where there is no friction.
    """
    built = build(xml, base, gravity, locked_joints)
    projection = Projection(built.pinocchio, built.mimics).matrix if built.mimics else None
    model = accept(built.pinocchio, built.links, inertia, projection).model
    return from_pinocchio(model, built.mimics, heat=heat)


def from_pinocchio(
    model: Any,
    mimics: Mapping[str, Mimic] | None = None,
    *,
    heat: Heat | Mapping[str, Heat] | None = None,
    softening: float = 0.0,
) -> System:
    """Return the system of a ``pinocchio.Model``, as :func:`from_urdf` does.

    Args:
        model: the model, whose first joint determines the base.
        mimics: joints that follow others.
        heat: as for :func:`from_urdf`.
        softening: of the viscous friction of all joints, 1/K, from 298.15 K on; see
            :func:`.coulomb`.

    Raises:
        ModelError: as for :func:`from_urdf`, or rotors that the armature does not contain.
    """
    check_rotors(model)
    gravity = tuple(model.gravity.linear.tolist())
    floating = base_of(model) == "floating"
    links = body_names(model)
    bodies: dict[str, System] = {}
    joints: dict[str, Between] = {}
    table = joint_table(model, range(1, model.njoints))
    rubbing = {
        joint_name(model.names[i])
        for i in range(1, model.njoints)
        if table.damping[i - 1] or table.friction[i - 1]
    }
    _check_heat(heat, rubbing)
    for i in range(1, model.njoints):
        inertia = model.inertias[i]
        if not inertia.mass > 0.0:
            raise ModelError(
                f"the link '{links[i]}' moves but has no mass; give it one, or lock its joint"
            )
        bodies[links[i]] = rigid_body(inertia.mass, inertia.inertia, gravity)
        if i == 1 and floating:
            continue
        pair, turn = _pair_of(model, i)
        parent = model.parents[i]
        o1 = _pose(model.jointPlacements[i]) @ turn
        if parent:
            o1 = pose_of(np.eye(3), -model.inertias[parent].lever) @ o1
        o2 = pose_of(np.eye(3), -inertia.lever) @ turn
        name = joint_name(model.names[i])
        joints[name] = Between(
            links[parent] if parent else GROUND,
            links[i],
            joint(
                pair,
                o1,
                o2,
                friction=_friction(table.damping[i - 1], table.friction[i - 1], pair, softening),
                heat=_heat_of(name, heat) if name in rubbing else None,
                armature=float(model.armature[model.idx_vs[i]]),
                driven=True,
            ),
        )
    gears = {
        f"{joint_name(name)}_gear": Gear(joint_name(name), joint_name(m.of), m.multiplier)
        for name, m in (mimics or {}).items()
    }
    return mechanism(bodies, joints, open_bodies=[links[1]] if floating else [], gears=gears)


def _heat_of(name: str, heat: Heat | Mapping[str, Heat] | None) -> Heat | None:
    return heat.get(name) if isinstance(heat, Mapping) else heat


def _check_heat(heat: Heat | Mapping[str, Heat] | None, rubbing: set[str]) -> None:
    """Check that heat is given for joints that have friction, which makes it."""
    without = sorted(set(heat) - rubbing) if isinstance(heat, Mapping) else []
    if without or (heat is not None and not rubbing):
        raise ModelError(
            "heat is given "
            + (f"for {', '.join(without)}, " if without else "")
            + "but joints without friction make none; those with friction are: "
            + f"{', '.join(sorted(rubbing)) or 'none'}; add <dynamics damping=... friction=.../>"
        )


def body_names(model: Any) -> dict[int, str]:
    """Return the name of the body that every joint of a Pinocchio model moves: that of its link."""
    found: dict[int, str] = {0: GROUND}
    joints = {joint_name(name) for name in model.names}
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint not in found:
            name = joint_name(frame.name)
            found[frame.parentJoint] = f"{name}_body" if name in joints | {GROUND} else name
    for i in range(1, model.njoints):
        found.setdefault(i, f"{joint_name(model.names[i])}_body")
    return found


def joint_name(name: str) -> str:
    """Return the name of a box for a name in a URDF; dots, which separate boxes, are replaced."""
    return str(name).replace(".", "_")


def _pair_of(model: Any, i: int) -> tuple[LowerPair, Array]:
    """Return the pair of a joint, and the rotation from its z axis to the joint's axis."""
    kind = model.joints[i].shortname()
    name = kind.removeprefix("JointModel")
    if name == "Planar":
        return Planar(), np.eye(4)
    if name.startswith(("R", "P")) and name[-1] in _AXES:
        axis = np.array(_AXES[name[-1]])
    elif name.endswith("Unaligned"):
        state = model.joints[i].createData()
        model.joints[i].calc(state, pin.neutral(model)[model.idx_qs[i] :][: model.nqs[i]])
        subspace = np.array(state.S).ravel()
        axis = subspace[:3] if name.startswith("P") else subspace[3:]
    else:
        raise ModelError(
            f"the joint '{model.names[i]}' is a {kind}; revolute, continuous, prismatic and planar "
            "joints and a floating base are covered"
        )
    return (Prismatic() if name.startswith("P") else Revolute()), _turn(axis)


def _turn(axis: Array) -> Array:
    """Return the shortest rotation from the z axis to an axis, (4,4)."""
    axis = axis / np.linalg.norm(axis)
    z = np.array([0.0, 0.0, 1.0])
    v, c = np.cross(z, axis), float(axis[2])
    if c < -1.0 + 1e-12:
        return pose_of(np.diag([1.0, -1.0, -1.0]), np.zeros(3))
    hat = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return pose_of(np.eye(3) + hat + hat @ hat / (1.0 + c), np.zeros(3))


def _friction(viscous: float, dry: float, pair: LowerPair, softening: float = 0.0) -> Any:
    if not (viscous or dry):
        return None
    if softening and pair.dimension == 1:
        return coulomb(float(viscous), float(dry), softening=softening)
    return coulomb(float(viscous), float(dry)) if dry else float(viscous)


def _pose(placement: Any) -> Array:
    return np.array(placement.homogeneous)
