# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot and its scene as a model of MuJoCo, built from the robot's own kinematic tree.

Both engines so have the same bodies, joints and inertias: those after repairs, with locked joints
welded, and with joints that mimic others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...actuation.friction import Friction
from ...arrays import Array
from ...errors import MissingExtraError, ModelError
from ...model import VMSModel
from ...robot.joints import motion_subspace
from .scene import Scene, Shape, Surface

# Robot and surroundings touch each other; the parts of the robot do not touch among themselves.
_ROBOT_BITS, _SCENE_BITS = (1, 2), (2, 3)


def import_mujoco() -> Any:
    """Return the module ``mujoco``.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError(
            "engine mujoco requires the package mujoco: pip install 'vms-ph[mjcf]'"
        ) from None
    # Otherwise a motion that diverges writes a log file to the working directory.
    mujoco.set_mju_user_warning(lambda message: None)
    return mujoco


@dataclass(frozen=True)
class RobotShape:
    """A shape of the robot, with the Pinocchio joint that moves it; 0 for the world."""

    joint: int
    shape: Shape


@dataclass(frozen=True)
class MujocoRobot:
    """A compiled model and where the robot's coordinates are in it.

    Attributes:
        spec: the ``mujoco.MjSpec`` that it was compiled from.
        model: a ``mujoco.MjModel``.
        bodies: (njoints,) index of the body that each Pinocchio joint moves.
        joints_q: (n,) addresses of the independent joints in ``qpos``.
        joints_v: (n,) likewise in ``qvel``.
        robot_mask: (nv_mujoco,) whether a velocity is one of the robot.
    """

    spec: Any
    model: Any
    bodies: Array
    joints_q: Array
    joints_v: Array
    robot_mask: Array


def build(
    robot: VMSModel,
    scene: Scene,
    dt: float,
    friction: Friction | None,
    has_stops: bool,
    shapes: Sequence[RobotShape] = (),
) -> MujocoRobot:
    """Return a robot in a scene.

    Args:
        robot: the robot.
        scene: scene that surrounds it.
        dt: step, s.
        friction: in the joints; None for none.
        has_stops: whether the joints' limits are stops.
        shapes: shapes of the robot that touch the scene.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        ModelError: MuJoCo cannot represent the robot.
    """
    mujoco = import_mujoco()
    if robot.fluid is not None:
        raise ModelError(
            f"engine mujoco does not simulate the fluid around '{robot.name}': its added mass, "
            "drag and buoyancy are those of engine vms_ph"
        )
    spec = mujoco.MjSpec()
    spec.modelname = robot.name or "robot"
    spec.compiler.degree = False
    spec.compiler.balanceinertia = False
    option = spec.option
    option.timestep = dt
    option.gravity = robot.gravity
    option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = 10.0
    bodies = [spec.worldbody, *_add_joints(mujoco, spec, robot, has_stops, scene)]
    tool = robot.tree.pinocchio.frames[robot.tree.frame_id(robot.end_effector)]
    for part in shapes:
        _add_shape(mujoco, spec, bodies[part.joint], part.shape, scene.surface, _ROBOT_BITS)
    for shape in scene.tool:
        placed_shape = replace(shape, pose=tool.placement.homogeneous @ shape.pose)
        _add_shape(mujoco, spec, bodies[tool.parentJoint], placed_shape, scene.surface, _ROBOT_BITS)
    for body in scene.bodies:
        _add_body(mujoco, spec, body, scene)
    if friction is not None:
        for i, name in enumerate(robot.joint_names):
            _set_friction(spec.joint(name), friction.viscous[i], friction.coulomb[i], dt)
    try:
        model = spec.compile()
    except ValueError as error:
        raise ModelError(f"MuJoCo does not accept '{robot.name}': {error}") from None
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    return _compiled_robot(spec, model, robot, scene)


def _set_friction(joint: Any, viscous: float, coulomb: float, dt: float) -> None:
    if np.ndim(joint.damping):
        # In later versions of MuJoCo the coefficients of a polynomial in the speed.
        joint.damping = [viscous, *[0.0] * (len(joint.damping) - 1)]
    else:
        joint.damping = viscous
    joint.frictionloss = coulomb
    # As hard as MuJoCo's friction can be: a joint under a load below it creeps.
    joint.solref_friction = [2.0 * dt, 1.0]
    joint.solimp_friction = [0.999, 0.9999, *joint.solimp_friction[2:]]


def _compiled_robot(spec: Any, model: Any, robot: VMSModel, scene: Scene) -> MujocoRobot:
    joints = [model.joint(name) for name in robot.joint_names]
    robot_mask = np.ones(model.nv, dtype=bool)
    for name in free_joint_names(scene):
        address = model.joint(name).dofadr[0]
        robot_mask[address : address + 6] = False
    return MujocoRobot(
        spec,
        model,
        np.array([0, *(model.body(name).id for name in list(robot.tree.pinocchio.names)[1:])]),
        np.array([joint.qposadr[0] for joint in joints], dtype=int),
        np.array([joint.dofadr[0] for joint in joints], dtype=int),
        robot_mask,
    )


def _add_joints(mujoco: Any, spec: Any, robot: VMSModel, stops: bool, scene: Scene) -> list[Any]:
    """Add the bodies of the robot, and return them in the order of its joints."""
    tree, m = robot.tree, robot.tree.pinocchio
    joint_types, bodies = mujoco.mjtJoint, [spec.worldbody]
    for i in range(1, m.njoints):
        pose, name = m.jointPlacements[i].homogeneous, m.names[i]
        body = bodies[m.parents[i]].add_body(name=name, **_pose_args(mujoco, pose))
        _set_inertia(body, m.inertias[i])
        bodies.append(body)
        if i == 1 and tree.base == "floating":
            body.add_joint(name=name, type=joint_types.mjJNT_FREE)
            continue
        if i == 1 and tree.base == "planar":
            for k, axis in enumerate(np.eye(3)[:2]):
                body.add_joint(name=f"{name}/{k}", type=joint_types.mjJNT_SLIDE, axis=axis)
            body.add_joint(name=name, type=joint_types.mjJNT_HINGE, axis=[0, 0, 1])
            continue
        linear, angular = np.split(motion_subspace(m, i)[:, 0], 2)
        if linear.any() and angular.any():
            raise ModelError(f"MuJoCo has no helical joints such as '{name}'; lock it")
        kind = joint_types.mjJNT_HINGE if angular.any() else joint_types.mjJNT_SLIDE
        joint = body.add_joint(name=name, type=kind, axis=angular + linear)
        joint.armature = m.armature[m.joints[i].idx_v]
        joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
        if name in tree.mimics:
            _add_mimic(mujoco, spec, name, tree.mimics[name])
        elif stops:
            k = robot.joint_names.index(name)
            low, high = robot.joints.lower[k], robot.joints.upper[k]
            if np.isfinite([low, high]).all():
                joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
                joint.range = [low, high]
                joint.solref_limit = [scene.surface.time, 1.0]
    return bodies[1:]


def _set_inertia(body: Any, inertia: Any) -> None:
    body.explicitinertial = True
    body.mass = inertia.mass
    body.ipos = inertia.lever
    i = inertia.inertia
    body.fullinertia = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]


def _add_mimic(mujoco: Any, spec: Any, name: str, mimic: Any) -> None:
    equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=name, name2=mimic.leader)
    equality.objtype = mujoco.mjtObj.mjOBJ_JOINT
    coefficients = np.zeros(len(equality.data))
    coefficients[:2] = mimic.offset, mimic.multiplier
    equality.data = coefficients


def _add_body(mujoco: Any, spec: Any, body: Any, scene: Scene) -> None:
    scene_body = spec.worldbody.add_body(name=f"scene/{body.name}", **_pose_args(mujoco, body.pose))
    if body.is_free:
        scene_body.add_joint(name=_free_joint_name(body.name), type=mujoco.mjtJoint.mjJNT_FREE)
    for shape in body.shapes:
        geom = _add_shape(mujoco, spec, scene_body, shape, scene.surface, _SCENE_BITS)
        if body.is_free:
            geom.mass = body.mass / len(body.shapes)


def _add_shape(
    mujoco: Any, spec: Any, body: Any, shape: Shape, surface: Surface, contact_bits: tuple[int, int]
) -> Any:
    x, y, z = (*shape.size, 0.0, 0.0, 0.0)[:3]
    size = {
        "plane": [0.0, 0.0, 1.0],
        "box": [0.5 * x, 0.5 * y, 0.5 * z],
        "sphere": [x, 0.0, 0.0],
        "cylinder": [x, 0.5 * y, 0.0],
        "capsule": [x, 0.5 * y, 0.0],
        "mesh": [0.0, 0.0, 0.0],
    }[shape.kind]
    kind = getattr(mujoco.mjtGeom, f"mjGEOM_{shape.kind.upper()}")
    geom = body.add_geom(type=kind, size=size, **_pose_args(mujoco, shape.pose))
    if shape.kind == "mesh":
        name = f"mesh {len(spec.meshes)}"
        spec.add_mesh(name=name, uservert=np.asarray(shape.vertices).ravel())
        geom.meshname = name
    geom.contype, geom.conaffinity = contact_bits
    geom.mass = 0.0
    geom.rgba = shape.rgba
    geom.condim = 3
    geom.friction = [surface.friction, 0.005, 0.0001]
    geom.solref = [surface.time, surface.damping_ratio]
    return geom


def _pose_args(mujoco: Any, matrix: Array) -> dict[str, Array]:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(matrix[:3, :3]).ravel())
    return {"pos": np.array(matrix[:3, 3]), "quat": quaternion}


def _free_joint_name(name: str) -> str:
    return f"scene/{name}/free"


def free_joint_names(scene: Scene) -> list[str]:
    """Return the names of the joints with which the free bodies of a scene move."""
    return [_free_joint_name(body.name) for body in scene.bodies if body.is_free]
