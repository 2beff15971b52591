# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinematic tree of a robot with base and mimic joints; poses and Jacobians at one state."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pinocchio as pin

from ..arrays import Array, cached_property, copy_with, frozen, restore, zeros
from ..errors import ModelError
from ..groups import SE2
from ..native import native_part
from .algorithms import NativeAlgorithms, TreeAlgorithms, native_robot
from .inertia import LinkInertia, check_rotors, check_size
from .inertia_repair import InertiaMode, accept_inertias, body_inertias
from .joints import (
    BASE_DIMENSION,
    BASE_POSITION_SIZE,
    Base,
    base_of,
    check_joints,
    joint_table,
    rotations_of,
)
from .mimic import Mimic, Projection

_SE2 = SE2()

PARAMETERS = 10
"""Inertial parameters of a body, in Pinocchio's order: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""


class KinematicTree:
    """A ``pinocchio.Model`` on a base, with joints that may mimic others.

    The library calls Pinocchio through this class only. Immutable after
    construction, and safe to share between threads: each has its own :meth:`data`.

    A *full* configuration or velocity is Pinocchio's and includes the joints that mimic others;
    without such joints it is that of the robot.

    Attributes:
        pinocchio: the ``pinocchio.Model`` itself; it must not be changed.
        name: of the robot.
        base: ``"fixed"``, ``"planar"`` or ``"floating"``.
        b: dimension of the base velocity: 0, 3 or 6.
        n: number of independent joints.
        nq: size of a configuration; ``nv = b + n``: size of a velocity.
        joints: names, limits and friction of the n joints.
        mimics: the joints that mimic others, by name.
        projection: (nv_full,nv) if joints mimic others, see :mod:`.mimic`; else None.
        rotations: the entries of a configuration that must have length one.
        total_mass: of everything that moves, kg.
        repairs: the defects of inertias that were repaired.
        gravity: (3,) in the inertial frame, m/s^2.
        mount: (4,4) pose in the inertial frame of the axes of the base's position coordinates: the
            ``<origin>`` of a floating or planar joint; the identity on a fixed base.
        base_gravity: (3,) gravity in the axes of the mount.
        native: whether the terms are computed in C++: True, False, or None where the core is
            installed and covers the robot.
    """

    native: bool | None = None

    def __init__(
        self,
        pinocchio: Any,
        mimics: Mapping[str, Mimic] | None = None,
        links: Sequence[LinkInertia] | None = None,
        inertia: InertiaMode = "auto",
    ) -> None:
        """Check and own a ``pinocchio.Model``; pass a copy of a model that is used elsewhere.

        Args:
            pinocchio: a ``pinocchio.Model``.
            mimics: the joints that mimic others, by name.
            links: the inertias of its links; those of its bodies when None.
            inertia: which defects of them are accepted, see :func:`.accept_inertias`.

        Raises:
            ModelError: a joint type that is not covered, or a robot that is not physical.
        """
        check_joints(pinocchio)
        check_rotors(pinocchio)
        if pinocchio.nv == 0:
            raise ModelError(f"the robot '{pinocchio.name}' has no joint that moves")
        check_size(pinocchio)
        self.name: str = pinocchio.name
        self.mimics = dict(mimics or {})
        self._map = Projection(pinocchio, self.mimics) if self.mimics else None
        self.projection: Array | None = None if self._map is None else self._map.matrix
        links = body_inertias(pinocchio) if links is None else links
        pinocchio, self.repairs = accept_inertias(pinocchio, links, inertia, self.projection)
        self.pinocchio = pinocchio
        self.base: Base = base_of(pinocchio)
        self.b = BASE_DIMENSION[self.base]
        self.nq: int = pinocchio.nq if self._map is None else self._map.nq
        self.nv: int = pinocchio.nv if self.projection is None else self.projection.shape[1]
        self.n = self.nv - self.b
        first_joint = 1 if self.base == "fixed" else 2
        names = list(pinocchio.names)
        joint_ids = [i for i in range(first_joint, len(names)) if names[i] not in self.mimics]
        table = joint_table(pinocchio, joint_ids, self.projection)
        self.joints = table if self._map is None else self._map.within_followers(pinocchio, table)
        self.rotations = rotations_of(pinocchio, self.mimics)
        self.total_mass = float(pin.computeTotalMass(pinocchio))
        self.gravity = frozen(np.array(pinocchio.gravity.linear))
        mount = np.eye(4) if self.base == "fixed" else pinocchio.jointPlacements[1].homogeneous
        self.mount = frozen(np.array(mount))
        self.base_gravity = frozen(self.mount[:3, :3].T @ self.gravity)
        self._base_position_size = BASE_POSITION_SIZE[self.base]
        # Configurations are vectors: no base, no pairs (cos, sin), no joints that mimic others.
        self._is_vector_space = self._map is None and pinocchio.nq == pinocchio.nv
        self._thread_data = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """Leave to each copy its own data of threads and its own models in C++."""
        excluded = ("_thread_data", "algorithms", "cpp_core", "cpp_robots", "reduced_core")
        return {name: part for name, part in vars(self).items() if name not in excluded}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the parts of another tree, of this process or another one."""
        restore(self, state)
        self._thread_data = threading.local()

    def __deepcopy__(self, memo: dict[int, Any]) -> "KinematicTree":
        """Return this tree: nothing in it changes."""
        return self

    def with_native(self, native: bool | None) -> "KinematicTree":
        """Return this tree with its terms in C++ (True), in Python (False) or as is best (None).

        Raises:
            ModelError: ``native=True``, but the core is not installed or does not cover the robot.
        """
        is_chosen = "native" in vars(self) and native is self.native
        tree = self if is_chosen else copy_with(self, native=native)
        _ = tree.algorithms
        return tree

    @cached_property
    def algorithms(self) -> TreeAlgorithms:
        """The recursions that compute the terms, in C++ or in Python."""

        def make(module: Any) -> NativeAlgorithms:
            return NativeAlgorithms(module, module.Model(self.pinocchio))

        fallback = "the terms are computed in Python"
        return native_part(self.native, None, make, fallback) or TreeAlgorithms()

    @cached_property
    def cpp_core(self) -> NativeAlgorithms | None:
        """The recursions in C++, or None where the terms are computed in Python."""
        return self.algorithms if isinstance(self.algorithms, NativeAlgorithms) else None

    @cached_property
    def reduced_core(self) -> NativeAlgorithms | None:
        """Those of the independent joints; None also where C++ does not cover how others mimic."""
        if self.cpp_core is None or self.projection is None:
            return self.cpp_core
        return native_part(None, None, lambda m: NativeAlgorithms(m, native_robot(m, self)), "")

    @cached_property
    def cpp_robots(self) -> dict[str, Any]:
        """The robots in C++ by their end effectors: one for all that stand at the same state."""
        return {}

    def inertial_parameters(self) -> Array:
        """Return the inertial parameters of all bodies in the order of the joints, (10 bodies,).

        Ten of each: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin of its joint.
        """
        inertias = list(self.pinocchio.inertias)[1:]
        return np.concatenate([np.asarray(body.toDynamicParameters()) for body in inertias])

    def with_inertias(self, inertias: Sequence[Any]) -> "KinematicTree":
        """Return this tree with other inertias of its bodies, which are not checked.

        Args:
            inertias: a ``pinocchio.Inertia`` of each joint.
        """
        pinocchio = self.pinocchio.copy()
        for i, inertia in enumerate(inertias, 1):
            pinocchio.inertias[i] = inertia
        total_mass = float(pin.computeTotalMass(pinocchio))
        return copy_with(self, pinocchio=pinocchio, total_mass=total_mass)

    def without_gravity(self) -> "KinematicTree":
        """Return this tree in a place without gravity."""
        pinocchio = self.pinocchio.copy()
        pinocchio.gravity.linear = np.zeros(3)
        return copy_with(self, pinocchio=pinocchio, gravity=zeros(3), base_gravity=zeros(3))

    def data(self) -> Any:
        """Return this thread's ``pinocchio.Data``; the next call of any term overwrites it."""
        if not hasattr(self._thread_data, "data"):
            self._thread_data.data = self.pinocchio.createData()
        return self._thread_data.data

    def full_configuration(self, q: Array) -> Array:
        """Return Pinocchio's configuration, with the joints that mimic others filled in."""
        return q if self._map is None else self._map.configuration(q)

    def full_velocity(self, v: Array) -> Array:
        """Return Pinocchio's velocity, with the joints that mimic others filled in."""
        return v if self.projection is None else v @ self.projection.T

    def restrict(self, force: Array) -> Array:
        """Return ``P^T force`` of Pinocchio's generalised force, (nv,), or of its rows."""
        return force if self.projection is None else self.projection.T @ force

    def without_mimics(self, q_full: Array) -> Array:
        """Return a copy of a full configuration without the joints that mimic others, (nq,)."""
        return np.array(q_full) if self._map is None else self._map.without_mimics(q_full)

    def at_origin(self, q: Array) -> Array:
        """Return ``q`` with the base moved to the origin, its orientation kept.

        No term of the equations of motion depends on where the base is, but Pinocchio's Coriolis
        matrix loses precision with the square of that distance.
        """
        position_size = self._base_position_size
        if position_size == 0:
            return q
        at_zero = q.copy()
        at_zero[:position_size] = 0.0
        return at_zero

    def base_displacement(self, q: Array) -> Array:
        """Return the position of the base from its mount, in inertial axes, (3,)."""
        position_size = self._base_position_size
        return self.mount[:3, :position_size] @ q[:position_size]

    def project(self, matrix: Array) -> Array:
        """Return ``P^T matrix P`` for a matrix of full velocities; unchanged without mimics."""
        P = self.projection
        return matrix if P is None else P.T @ matrix @ P

    def projected_columns(self, jacobian: Array) -> Array:
        """Return ``jacobian P`` for a Jacobian of full velocities, as an array of its own."""
        P = self.projection
        # Of a robot with one joint Pinocchio returns a Jacobian as a vector.
        full_columns = jacobian.reshape(len(jacobian), self.pinocchio.nv)
        return full_columns.copy() if P is None else full_columns @ P

    def neutral_configuration(self) -> Array:
        """Return the configuration with every joint at zero and the base at the origin, (nq,)."""
        return self.without_mimics(pin.neutral(self.pinocchio))

    def integrate(self, q: Array, dv: Array) -> Array:
        """Return the configuration reached from ``q`` by the constant velocity ``dv``, (nq,)."""
        if self._is_vector_space:
            return np.add(q, dv)
        q_full = pin.integrate(self.pinocchio, self.full_configuration(q), self.full_velocity(dv))
        return self.without_mimics(q_full)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return ``dv`` with ``integrate(q0, dv) = q1``, (nv,)."""
        if self._is_vector_space:
            return np.subtract(q1, q0)
        dv_full = pin.difference(
            self.pinocchio, self.full_configuration(q0), self.full_configuration(q1)
        )
        if self.base == "planar":
            # Pinocchio's logarithm loses half the digits for rotations just above 1e-4 rad.
            dv_full[:3] = _SE2.log(_SE2.inverse(_planar_pose(q0)) @ _planar_pose(q1))
        if self.projection is None:
            return np.array(dv_full)
        # The rows of P that belong to independent joints are unit vectors.
        return np.linalg.lstsq(self.projection, dv_full, rcond=None)[0]

    def base_pose(self, q: Array) -> Array:
        """Return the pose of the base in the inertial frame, (4,4); the unit of a fixed base."""
        if self.base == "fixed":
            return np.eye(4)
        if self.base == "floating":
            base_in_mount = pin.XYZQUATToSE3(q[:7]).homogeneous
        else:
            base_in_mount, (x, y, c, s) = np.eye(4), q[:4]
            base_in_mount[:2, :2], base_in_mount[:2, 3] = [[c, -s], [s, c]], (x, y)
        return self.mount @ base_in_mount

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, in the order of the tree."""
        return tuple(f.name for f in self.pinocchio.frames if f.type == pin.FrameType.BODY)

    def has_frame(self, name: str) -> bool:
        """Return whether a link, a joint or another frame has this name."""
        return bool(self.pinocchio.existFrame(name))

    def frame_id(self, name: str) -> int:
        """Return Pinocchio's index of a frame; of a link where a joint has the same name.

        Raises:
            ModelError: listing the links there are.
        """
        pinocchio = self.pinocchio
        if not isinstance(name, str):
            raise ModelError(
                "a frame is given by its name, before q: jacobian('hand', q), placement('hand', q);"
                f" given: {name!r}"
            )
        if pinocchio.existFrame(name, pin.FrameType.BODY):
            return int(pinocchio.getFrameId(name, pin.FrameType.BODY))
        if not pinocchio.existFrame(name):
            links = ", ".join(self.link_names) or "none: add one with pinocchio's addBodyFrame"
            raise ModelError(f"'{name}' is not a frame of '{self.name}'; its links are {links}")
        return int(pinocchio.getFrameId(name))


def _planar_pose(q: Array) -> Array:
    x, y, cos, sin = q[:4]
    return np.array([[cos, -sin, x], [sin, cos, y], [0.0, 0.0, 1.0]])


Axes: TypeAlias = Literal["own", "world"]
"""Axes of a wrench or twist: those of its frame, or inertial ones at the origin of the frame."""


def _is_world(axes: str) -> bool:
    if axes not in ("own", "world"):
        raise ModelError(f"axes are 'own' or 'world'; given: {axes!r}")
    return axes == "world"


class Kinematics:
    """An immutable snapshot of a kinematic tree at a state: poses and Jacobians of its frames.

    Lengths are in m.

    Attributes:
        tree: the kinematic tree.
        q: (nq,) configuration.
        v: (nv,) velocity.
        q_full: Pinocchio's configuration, (nq_full,).
        v_full: Pinocchio's velocity, (nv_full,).
    """

    def __init__(self, tree: KinematicTree, q: Array, v: Array) -> None:
        """Store the arrays as they are; the caller must not change them.

        Args:
            tree: the kinematic tree.
            q: (nq,) configuration.
            v: (nv,) velocity.
        """
        self.tree, self.q, self.v = tree, q, v
        self.q_full, self.v_full = tree.full_configuration(q), tree.full_velocity(v)

    @cached_property
    def q_origin(self) -> Array:
        """Pinocchio's configuration with the base moved to the origin, (nq_full,)."""
        return self.tree.at_origin(self.q_full)

    def placement(self, frame: str | int) -> Array:
        """Return the pose of a frame, by its name or index, in the inertial frame, (4,4).

        Raises:
            ModelError: there is no such frame.
        """
        return frozen(self.tree.algorithms.placement(self, self._frame_id(frame)))

    def jacobian(self, frame: str | int, axes: Axes = "own") -> Array:
        """Return the Jacobian of a frame, by its name or index, linear first, (6,nv).

        Args:
            frame: name of a link, a joint or another frame, or Pinocchio's index of it.
            axes: ``"own"`` for those of the frame, ``"world"`` for inertial axes; the linear part
                is the velocity of the frame's origin in both.

        Raises:
            ModelError: there is no such frame, or no such axes.
        """
        jacobian = self.tree.algorithms.jacobian(self, self._frame_id(frame), _is_world(axes))
        return frozen(self.tree.projected_columns(jacobian))

    def jacobian_rate(self, frame: str | int, axes: Axes = "own") -> Array:
        """Return the derivative of :meth:`jacobian` along the velocity, (6,nv)."""
        rate = self.tree.algorithms.jacobian_rate(self, self._frame_id(frame), _is_world(axes))
        return frozen(self.tree.projected_columns(rate))

    def _frame_id(self, frame: str | int) -> int:
        return frame if isinstance(frame, int) else self.tree.frame_id(frame)


@dataclass(frozen=True)
class Edge:
    """A link and its parent.

    Attributes:
        parent: name of the parent.
        child: name of the link.
        moves: whether the joint between them moves.
    """

    parent: str
    child: str
    moves: bool


class LinkTree:
    """The tree of links, and their poses relative to their parents.

    Attributes:
        root: name of the root link: that of the base where the base moves.
        edges: every other link with its parent, parents first.

    Args:
        tree: of the robot.
    """

    def __init__(self, tree: KinematicTree) -> None:
        self._tree = tree
        frames = tree.pinocchio.frames
        self._frame_pairs: list[tuple[int, int]] = []
        edges, roots = [], []
        for i, frame in enumerate(frames):
            if frame.type != pin.FrameType.BODY:
                continue
            if frame.parentJoint == 0 and tree.base != "fixed":
                continue  # what carries the joint of a moving base belongs to the inertial frame
            moves, parent = False, frame.parentFrame
            while parent != 0 and frames[parent].type != pin.FrameType.BODY:
                moves |= frames[parent].type == pin.FrameType.JOINT
                parent = frames[parent].parentFrame
            if parent == 0 or (frames[parent].parentJoint == 0 and tree.base != "fixed"):
                roots.append(frame.name)
                continue
            edges.append(Edge(frames[parent].name, frame.name, moves))
            self._frame_pairs.append((parent, i))
        self.root: str = roots[0]
        self.edges = tuple(edges)

    def relative_poses(self, q: Array) -> Array:
        """Return the pose of every edge's child in its parent, (len(edges),7): x y z, qx qy qz qw.

        Args:
            q: (nq,) configuration.
        """
        tree = self._tree
        data = tree.data()
        pin.framesForwardKinematics(tree.pinocchio, data, tree.full_configuration(q))
        placements = data.oMf
        return np.array(
            [pin.SE3ToXYZQUAT(placements[j].actInv(placements[i])) for j, i in self._frame_pairs]
        )
