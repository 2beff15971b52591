# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Systems from the text of a URDF or from a Pinocchio model."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, Fluid, ModelError
from vms_ph_dynamics.groups import pose as pose_of
from vms_ph_dynamics.robot.building import build
from vms_ph_dynamics.robot.description import parse_description
from vms_ph_dynamics.robot.inertia import check_rotors
from vms_ph_dynamics.robot.inertia_repair import InertiaMode, accept_inertias
from vms_ph_dynamics.robot.joints import base_of, joint_table, motion_subspace
from vms_ph_dynamics.robot.mimic import Mimic, Projection

from ..systems import System
from .body import rigid_body
from .environment import Foot, immersed_body, with_feet
from .friction import Coulomb
from .joint import Heat, Spring, joint
from .mechanism import GROUND, Between, Gear, Tool, mechanism, springs_of
from .pairs import LowerPair, Planar, Prismatic, Revolute

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def body_names(model: Any) -> dict[int, str]:
    """Return the name of the body that every joint of a Pinocchio model moves: that of its link."""
    names: dict[int, str] = {0: GROUND}
    joints = {joint_name(name) for name in model.names}
    for frame in model.frames:
        if frame.type == pin.FrameType.BODY and frame.parentJoint not in names:
            name = joint_name(frame.name)
            names[frame.parentJoint] = f"{name}_body" if name in joints | {GROUND} else name
    for i in range(1, model.njoints):
        names.setdefault(i, f"{joint_name(model.names[i])}_body")
    return names


def joint_name(name: str) -> str:
    """Return the name of a box for a name in a URDF; dots, which separate boxes, are replaced."""
    return str(name).replace(".", "_")


def pair_of(model: Any, i: int) -> tuple[LowerPair, Array]:
    """Return the pair of a joint, and the rotation from its z axis to the joint's axis."""
    joint_type = model.joints[i].shortname()
    name = joint_type.removeprefix("JointModel")
    if name == "Planar":
        return Planar(), np.eye(4)
    if name.startswith(("R", "P")) and name[-1] in _AXES:
        axis = np.array(_AXES[name[-1]])
    elif name.endswith("Unaligned"):
        subspace = motion_subspace(model, i)[:, 0]
        axis = subspace[:3] if name.startswith("P") else subspace[3:]
    else:
        raise ModelError(
            f"the joint '{model.names[i]}' is a {joint_type}; revolute, continuous, prismatic and "
            "planar joints and a floating base are covered"
        )
    return (Prismatic() if name.startswith("P") else Revolute()), _rotation_from_z(axis)


def _rotation_from_z(axis: Array) -> Array:
    """Return the shortest rotation from the z axis to an axis, (4,4)."""
    axis = axis / np.linalg.norm(axis)
    z = np.array([0.0, 0.0, 1.0])
    v, c = np.cross(z, axis), float(axis[2])
    if c < -1.0 + 1e-12:
        return pose_of(np.diag([1.0, -1.0, -1.0]), np.zeros(3))
    hat = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return pose_of(np.eye(3) + hat + hat @ hat / (1.0 + c), np.zeros(3))


def from_urdf(
    xml: str,
    base: str = "auto",
    gravity: Sequence[float] | None = None,
    locked_joints: Iterable[str] | Mapping[str, float] = (),
    *,
    heat: Heat | Mapping[str, Heat] | None = None,
    inertia: InertiaMode = "auto",
    tools: Iterable[str] = (),
    open_bodies: Iterable[str] = (),
    springs: Mapping[str, Any] | None = None,
    fluid: Fluid | None = None,
    feet: Mapping[str, Foot] | None = None,
) -> System:
    """Return the system of bodies and joints that a URDF describes.

    Bodies are named after links, with frames at their centres of mass and the axes of the link
    frame; joints keep their names, and all are driven. Damping and friction of the URDF become
    friction with heat, armature becomes the kinetic energy of rotors, and ``stiffness`` and
    ``rest`` beside them, as an MJCF has them, become springs. A floating base is a free body with
    an open port.

    Args:
        xml: the URDF itself; ``vms_ph_io`` reads files and xacro.
        base: ``"auto"``, ``"fixed"``, ``"planar"`` or ``"floating"``, as for ``VMSModel``.
        gravity: (3,) in the inertial frame, m/s^2; as for ``VMSModel.from_urdf`` when None.
        locked_joints: names of joints to hold, at zero or at the value given.
        heat: destination of the heat of all joints with friction or of each by name; the
            environment when None.
        inertia: what is done about inertias that no rigid body has, as for ``VMSModel``.
        tools: names of frames, each of which gets a port of its name for wrenches at its origin,
            in its axes.
        open_bodies: names of links, each of which gets a port of its name for wrenches at the
            centre of mass of the body, in the axes of the link.
        springs: stiffness in N m/rad or N/m, or a pair with the position at rest, by joint, beside
            or instead of those of the description.
        fluid: in which links of the robot are; its drag heats the environment.
        feet: frames with points that touch a plane, each point in its frame.

    Raises:
        ModelError: the text is not a URDF, a joint type is not covered, a moving link has no mass
            or no rotational inertia about some axis, heat is given where there is no friction, or
            a tool, body, spring, foot or immersed link is none of the robot's.
    """
    robot = build(xml, base, gravity, locked_joints)
    projection = Projection(robot.pinocchio, robot.mimics).matrix if robot.mimics else None
    model = accept_inertias(robot.pinocchio, robot.link_inertias, inertia, projection).model
    names = {joint_name(name) for name in model.names}
    springs_of_joints = springs_of(parse_description(xml))
    used_springs = {
        name: springs_of_joints[name] for name in springs_of_joints if joint_name(name) in names
    }
    return from_pinocchio(
        model,
        robot.mimics,
        heat=heat,
        tools=tools,
        open_bodies=open_bodies,
        springs={**used_springs, **(springs or {})},
        fluid=fluid,
        feet=feet,
    )


def from_pinocchio(
    model: Any,
    mimics: Mapping[str, Mimic] | None = None,
    *,
    heat: Heat | Mapping[str, Heat] | None = None,
    softening: float = 0.0,
    tools: Iterable[str] = (),
    open_bodies: Iterable[str] = (),
    springs: Mapping[str, Any] | None = None,
    fluid: Fluid | None = None,
    feet: Mapping[str, Foot] | None = None,
    theta_0: float | None = None,
) -> System:
    """Return the system of a ``pinocchio.Model``, as :func:`from_urdf` does.

    Args:
        model: the model, whose first joint determines the base.
        mimics: joints that follow others.
        heat: as for :func:`from_urdf`.
        softening: of the viscous friction of all joints, 1/K, from 298.15 K on; see
            :class:`.Coulomb`.
        tools: as there.
        open_bodies: as there.
        springs: as there.
        fluid: as there.
        feet: as there.
        theta_0: temperature of fluid and ground, K; that of the heat when None.

    Raises:
        ModelError: as for :func:`from_urdf`, or rotors that the armature does not contain.
    """
    check_rotors(model)
    gravity = tuple(model.gravity.linear.tolist())
    is_floating = base_of(model) == "floating"
    link_names = body_names(model)
    bodies: dict[str, System] = {}
    joints: dict[str, Between] = {}
    table = joint_table(model, range(1, model.njoints))
    frictional_joints = {
        joint_name(model.names[i])
        for i in range(1, model.njoints)
        if table.damping[i - 1] or table.friction[i - 1]
    }
    _check_heat(heat, frictional_joints)
    joint_names = [joint_name(name) for name in model.names[1:]][1 if is_floating else 0 :]
    stiffnesses = {joint_name(name): value for name, value in (springs or {}).items()}
    _check_names("a spring", stiffnesses, joint_names)
    theta_0 = _environment_temperature(heat) if theta_0 is None else theta_0
    immersions = _immersions(model, fluid)
    feet_of: dict[int, dict[str, Foot]] = {}
    for frame, foot in (feet or {}).items():
        joint_index, pose = _frame_in_body(model, frame, "the foot")
        feet_of.setdefault(joint_index, {})[joint_name(frame)] = foot.in_frame(pose)
    for i in range(1, model.njoints):
        body = model.inertias[i]
        if not body.mass > 0.0:
            raise ModelError(
                f"the link '{link_names[i]}' moves but has no mass; give it one, or lock its joint"
            )
        bodies[link_names[i]] = (
            immersed_body(body.mass, body.inertia, gravity, immersions[i], fluid.density, theta_0)
            if fluid is not None and i in immersions
            else rigid_body(body.mass, body.inertia, gravity)
        )
        if i in feet_of:
            bodies[link_names[i]] = with_feet(bodies[link_names[i]], feet_of[i], theta_0)
        if i == 1 and is_floating:
            continue
        pair, rotation = pair_of(model, i)
        parent = model.parents[i]
        offset_1 = _pose(model.jointPlacements[i]) @ rotation
        if parent:
            offset_1 = pose_of(np.eye(3), -model.inertias[parent].lever) @ offset_1
        offset_2 = pose_of(np.eye(3), -body.lever) @ rotation
        name = joint_name(model.names[i])
        joints[name] = Between(
            link_names[parent] if parent else GROUND,
            link_names[i],
            joint(
                pair,
                offset_1,
                offset_2,
                potential=_spring(name, pair, stiffnesses.get(name)),
                friction=_friction(table.damping[i - 1], table.friction[i - 1], pair, softening),
                heat=_heat_of(name, heat) if name in frictional_joints else None,
                armature=float(model.armature[model.idx_vs[i]]),
                driven=True,
            ),
        )
    gears = {
        f"{joint_name(name)}_gear": Gear(joint_name(name), joint_name(m.leader), m.multiplier)
        for name, m in (mimics or {}).items()
    }
    open_names = [link_names[1]] if is_floating else []
    open_names += [name for name in map(joint_name, open_bodies) if name not in open_names]
    _check_names("a port", open_names, list(bodies), "moving links")
    return mechanism(
        bodies,
        joints,
        open_bodies=open_names,
        gears=gears,
        tools={joint_name(name): _tool(model, name, link_names) for name in tools},
    )


def _check_names(
    label: str, requested_names: Iterable[str], accepted: Sequence[str], kind: str = "joints"
) -> None:
    for name in requested_names:
        if name not in accepted:
            raise ModelError(
                f"{label} is given for '{name}', which the robot does not have; its {kind} are "
                f"{', '.join(accepted)}"
            )


def _frame_in_body(model: Any, name: str, label: str) -> tuple[int, Array]:
    """Return the moving joint of a frame, and its pose in the body there, (4,4)."""
    accepted = [f.name for f in model.frames if f.parentJoint]
    if not model.existFrame(name):
        raise ModelError(
            f"{label} '{name}' is no frame of '{model.name}'; "
            f"those that move are {', '.join(accepted)}"
        )
    frame = model.frames[model.getFrameId(name)]
    if not frame.parentJoint:
        raise ModelError(
            f"{label} '{name}' does not move; frames that do are {', '.join(accepted)}"
        )
    lever = model.inertias[frame.parentJoint].lever
    return frame.parentJoint, pose_of(np.eye(3), -lever) @ _pose(frame.placement)


def _tool(model: Any, name: str, link_names: Mapping[int, str]) -> Tool:
    joint_index, pose = _frame_in_body(model, name, "the tool")
    return Tool(link_names[joint_index], pose)


def _immersions(model: Any, fluid: Fluid | None) -> dict[int, list[tuple[Array, Any]]]:
    """Return the immersed links of every moving body."""
    immersions: dict[int, list[tuple[Array, Any]]] = {}
    for link in () if fluid is None else fluid.bodies:
        joint_index, pose = _frame_in_body(model, link.link, "the immersed link")
        immersions.setdefault(joint_index, []).append((pose, link))
    return immersions


def _environment_temperature(heat: Heat | Mapping[str, Heat] | None) -> float:
    """Return the temperature of the environment, which all heat has in common."""
    if isinstance(heat, Mapping):
        return next((settings.theta_0 for settings in heat.values()), Heat().theta_0)
    return (heat or Heat()).theta_0


def _spring(name: str, pair: LowerPair, stiffness: Any) -> Spring | None:
    if stiffness is None:
        return None
    values = np.atleast_1d(np.asarray(stiffness, dtype=np.float64))
    if values.size > 2 or not np.isfinite(values).all():
        raise ModelError(
            f"the spring of '{name}' must be a stiffness, or a stiffness and a position at rest; "
            f"given: {stiffness!r}"
        )
    return Spring(pair, float(values[0]), float(values[1]) if values.size > 1 else 0.0)


def _heat_of(name: str, heat: Heat | Mapping[str, Heat] | None) -> Heat | None:
    return heat.get(name) if isinstance(heat, Mapping) else heat


def _check_heat(heat: Heat | Mapping[str, Heat] | None, frictional: set[str]) -> None:
    """Check that heat is given for joints that have friction, which makes it."""
    frictionless = sorted(set(heat) - frictional) if isinstance(heat, Mapping) else []
    if frictionless or (heat is not None and not frictional):
        raise ModelError(
            "heat is given "
            + (f"for {', '.join(frictionless)}, " if frictionless else "")
            + "but joints without friction make none; those with friction are: "
            + f"{', '.join(sorted(frictional)) or 'none'}; add <dynamics damping=... friction=.../>"
        )


def _friction(viscous: float, dry: float, pair: LowerPair, softening: float = 0.0) -> Any:
    if not (viscous or dry):
        return None
    if softening and pair.dimension == 1:
        return Coulomb(float(viscous), float(dry), softening=softening)
    return Coulomb(float(viscous), float(dry)) if dry else float(viscous)


def _pose(placement: Any) -> Array:
    return np.array(placement.homogeneous)
