# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot as data: a kinematic tree on a base, its sizes, frames and configurations."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .actuation.fluid import Fluid
from .arrays import Array, copy_with, frozen, restore, vector
from .errors import ModelError, StateError, WithHints
from .robot.inertia import LinkInertia
from .robot.inertia_repair import InertiaMode
from .robot.joints import NORM_TOLERANCE, checked_tools
from .robot.kinematic_tree import KinematicTree
from .robot.mimic import Mimic

Model = TypeVar("Model", bound="RobotModel")


class RobotModel(WithHints):
    """``n`` joints on a base of ``b`` degrees of freedom, without equations of motion.

    Immutable after construction, and safe to share between threads. Configurations and velocities
    are Pinocchio's: ``q = [base, joints]``, ``v = [base twist in the base frame, linear first;
    joint rates]``.

    Attributes:
        base: ``"fixed"``, ``"planar"`` or ``"floating"``.
        b: dimension of the base velocity: 0, 3 or 6.
        n: number of joints.
        nq: size of a configuration; ``nv = b + n``: size of a velocity.
        nq_base: size of the base's part of a configuration: 0, 4 or 7.
        joints: names, limits and friction of the n joints, in the order of the joint rates.
        total_mass: mass of all moving bodies, kg.
        repairs: repairs of inertias of the description, in words; empty for most robots.
        end_effector: name of the frame the end-effector wrench acts at.
        end_effector_id: its index among the frames of Pinocchio's model.
        tools: names of the frames of further wrench ports, such as a second hand or feet.
        tool_ids: their indices.
        gravity: (3,) in the inertial frame, m/s^2.
        base_gravity: gravity in the axes of the base's position coordinates. These are the
            inertial axes unless a URDF mounts its floating or planar joint with a rotation, see
            :attr:`.KinematicTree.mount`.
        home: (nq,) configuration in which it starts: that of a bundled robot or of the keyframe of
            an MJCF; else every joint at zero, or in the middle of its range where the limits
            exclude zero. See :meth:`with_home`.
        fluid: the fluid that surrounds the robot, or None.
        urdf: the text that it was read from, for recordings; empty where that would make another
            robot: with another gravity, without the fluid or an attached body, or without locked
            joints.
        tree: the kinematic tree behind the model, for those who call Pinocchio themselves.
    """

    def __init__(
        self,
        pinocchio: Any,
        end_effector: str | None = None,
        *,
        mimics: Mapping[str, Mimic] | None = None,
        links: Sequence[LinkInertia] | None = None,
        inertia: InertiaMode = "auto",
        fluid: Fluid | None = None,
    ) -> None:
        """Construct from a ``pinocchio.Model``, which is not copied; see :meth:`from_pinocchio`.

        Args:
            pinocchio: the ``pinocchio.Model``.
            end_effector: name of a frame; when None, the farthest link of the longest chain.
            mimics: the joints that mimic others, by name.
            links: the inertias of its links; those of its bodies when None.
            inertia: as for :meth:`.VMSModel.from_urdf`.
            fluid: that surrounds the robot; None for none.

        Raises:
            ModelError: a joint type is not covered, or the robot is not physical.
        """
        tree = self.tree = KinematicTree(pinocchio, mimics, links, inertia)
        self.name, self.base, self.joints = tree.name, tree.base, tree.joints
        self.b, self.n, self.nq, self.nv = tree.b, tree.n, tree.nq, tree.nv
        self.nq_base = {"fixed": 0, "planar": 4, "floating": 7}[tree.base]
        self.total_mass, self.repairs = tree.total_mass, tree.repairs
        self.gravity, self.base_gravity = tree.gravity, tree.base_gravity
        self.end_effector = self._default_end_effector() if end_effector is None else end_effector
        self.end_effector_id, self.urdf = tree.frame_id(self.end_effector), ""
        self.tools: tuple[str, ...] = ()
        self.tool_ids: tuple[int, ...] = ()
        self.home = frozen(self._neutral_within_limits())
        self.fluid = fluid
        if fluid is not None:
            fluid.check(tree)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the parts of another model, of this process or another one."""
        restore(self, state)

    def with_native(self: Model, native: bool | None) -> Model:
        """Return this robot with its terms computed in C++ or in Python.

        Args:
            native: True requires the C++ core, False excludes it, None uses it where it is
                installed and covers the robot. Robots with joints that mimic others take the
                terms of all their joints from it.

        Raises:
            ModelError: ``native=True``, but the core is not installed or does not cover the robot.
        """
        return copy_with(self, tree=self.tree.with_native(native))

    @property
    def is_native(self) -> bool:
        """Whether the terms of the rigid bodies are computed in C++."""
        return self.tree.cpp_core is not None

    def checked_configuration(self, q: npt.ArrayLike) -> Array:
        """Return ``q`` as an array after checking its shape, entries and normalisation.

        Raises:
            StateError: the check fails; the message states how.
        """
        checked_q = vector(q, self.nq, f"q of a robot on a {self.base} base")
        for rotation in self.tree.rotations:
            norm = rotation.norm(checked_q)
            if abs(norm - 1.0) > NORM_TOLERANCE:
                raise StateError(
                    f"{rotation} must have length 1 within {NORM_TOLERANCE:g}; its length is "
                    f"{norm:.9g}; normalise_configuration corrects it"
                )
        return checked_q

    def normalise_configuration(self, q: npt.ArrayLike) -> Array:
        """Return ``q`` with every quaternion and (cos, sin) pair scaled to length one.

        Raises:
            StateError: q has a wrong shape, or a rotation of length zero.
        """
        normalised_q = vector(q, self.nq, "q").copy()
        for rotation in self.tree.rotations:
            norm = rotation.norm(normalised_q)
            if norm < NORM_TOLERANCE:
                raise StateError(f"{rotation} has length zero and is not a rotation")
            normalised_q[rotation.entries] /= norm
        return normalised_q

    def neutral_configuration(self) -> Array:
        """Return the configuration with every joint at zero and the base at the origin, (nq,)."""
        return self.tree.neutral_configuration()

    def _neutral_within_limits(self) -> Array:
        """Return the neutral configuration, with joints that exclude zero inside their limits."""
        dq, lower, upper = np.zeros(self.nv), self.joints.lower, self.joints.upper
        for k in np.flatnonzero((lower > 0.0) | (upper < 0.0)):
            middle = 0.5 * (lower[k] + upper[k])
            dq[self.b + k] = middle if np.isfinite(middle) else np.clip(0.0, lower[k], upper[k])
        return self.integrate(self.neutral_configuration(), dq)

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a configuration with joints uniform within their limits, (nq,).

        Joints without limits are drawn from (-pi, pi), or (-1, 1) m; the base pose is uniform over
        rotations and a cube of 2 m.
        """
        dq = np.zeros(self.nv)
        lower, upper = self.joints.lower, self.joints.upper
        default_range = np.where(self.joints.prismatic, 1.0, np.pi)
        lower_bounds = np.where(np.isfinite(lower), lower, -default_range)
        upper_bounds = np.where(np.isfinite(upper), upper, default_range)
        # Limits of joints that mimic others may leave one position only; 0.0 turns -0.0 into zero.
        dq[self.b :] = rng.uniform(lower_bounds, np.maximum(lower_bounds, upper_bounds) + 0.0)
        q = self.integrate(self.neutral_configuration(), dq)
        if self.base == "planar":
            angle = rng.uniform(-np.pi, np.pi)
            q[:4] = [*rng.uniform(-1, 1, 2), np.cos(angle), np.sin(angle)]
        elif self.base == "floating":
            quaternion = rng.normal(size=4)
            q[:7] = [*rng.uniform(-1, 1, 3), *(quaternion / np.linalg.norm(quaternion))]
        return q

    def integrate(self, q: Array, dv: Array) -> Array:
        """Return the configuration reached from ``q`` by the constant velocity ``dv`` in unit time.

        Args:
            q: (nq,).
            dv: (nv,) a tangent vector, base part in the base frame.
        """
        return self.tree.integrate(q, dv)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return ``dv`` with ``integrate(q0, dv) = q1``, (nv,).

        Args:
            q0: (nq,) configuration.
            q1: (nq,) configuration.
        """
        return self.tree.difference(q0, q1)

    def in_fluid(self: Model, fluid: Fluid) -> Model:
        """Return this robot immersed in a fluid.

        Raises:
            ModelError: the fluid names a link that the robot lacks.
        """
        fluid.check(self.tree)
        return copy_with(self, fluid=fluid, urdf="")

    def without_gravity(self: Model) -> Model:
        """Return this robot in a place without gravity, as one whose hardware carries its weight.

        Raises:
            ModelError: the robot is in a fluid, whose buoyancy would remain.
        """
        if self.fluid is not None:
            raise ModelError(
                f"'{self.name}' is in a fluid, whose buoyancy acts without gravity too; take the "
                "robot without the fluid"
            )
        tree = self.tree.without_gravity()
        attributes = {"gravity": tree.gravity, "base_gravity": tree.base_gravity, "urdf": ""}
        return copy_with(self, tree=tree, **attributes)

    def with_home(self: Model, home: Array) -> Model:
        """Return this robot with another configuration in which it starts, (nq,).

        Raises:
            StateError: it is no configuration of this robot.
        """
        return copy_with(self, home=frozen(self.checked_configuration(home)))

    def with_tools(self: Model, tools: Iterable[str]) -> Model:
        """Return this robot with these further wrench ports.

        Raises:
            ModelError: the robot lacks such a frame, or a name is not that of one further port.
        """
        names = checked_tools(tools, self.end_effector)
        return copy_with(self, tools=names, tool_ids=tuple(map(self.tree.frame_id, names)))

    def configuration(
        self, joints: Mapping[str, float], base: Sequence[float] | None = None
    ) -> Array:
        """Return the configuration with the joints given by name, the others at zero.

        Args:
            joints: positions in rad or m.
            base: pose of the base, [x y cos sin] or [x y z qx qy qz qw].

        Raises:
            StateError: a joint is unknown, or the base pose has the wrong size.
        """
        dq = np.zeros(self.nv)
        for name, position in joints.items():
            dq[self.b + self.joint_index(name)] = vector([position], 1, f"position of '{name}'")[0]
        q = self.integrate(self.neutral_configuration(), dq)
        if base is not None:
            base_size = self.nq_base
            q[:base_size] = vector(base, base_size, f"the pose of a {self.base} base")
        return self.checked_configuration(q)

    def base_pose(self, q: Array) -> Array:
        """Return the pose of the base in the inertial frame, (4,4), m; the identity if fixed."""
        return self.tree.base_pose(q)

    def joint_positions(self, q: Array) -> Array:
        """Return the positions of the n joints, (n,), rad or m; continuous ones in (-pi, pi]."""
        if self.nq - self.nq_base == self.n:
            return np.array(q[self.nq_base :])
        return self.difference(self.neutral_configuration(), q)[self.b :]

    def joint_index(self, name: str) -> int:
        """Return the index of a joint in ``joint_names``.

        Raises:
            StateError: there is no such joint; the message lists the joints.
        """
        try:
            return self.joint_names.index(name)
        except ValueError:
            joint_list = ", ".join(self.joint_names)
            raise StateError(
                f"'{name}' is no joint of '{self.name}'; its joints are {joint_list}"
            ) from None

    def frame_id(self, name: str) -> int:
        """Return Pinocchio's index of a frame; that of a link if a joint has the same name.

        Raises:
            ModelError: there is no such frame; the message lists the links.
        """
        return self.tree.frame_id(name)

    def is_continuous(self, entry: int) -> bool:
        """Return whether a (cos, sin) pair of a joint begins at an entry of a configuration."""
        return any(rotation.entries == slice(entry, entry + 2) for rotation in self.tree.rotations)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the n joints, in the order of the joint rates."""
        return self.joints.names

    @property
    def armature(self) -> Array:
        """Inertia of the rotors at the n joints, (n,), kg m^2 or kg; not that of followers."""
        pinocchio = self.tree.pinocchio
        rows = [pinocchio.joints[pinocchio.getJointId(name)].idx_v for name in self.joint_names]
        return np.asarray(pinocchio.armature)[rows]

    @property
    def is_plain(self) -> bool:
        """Whether Pinocchio's terms are those of the robot: no mimic joints and no fluid."""
        return self.tree.projection is None and self.fluid is None

    @property
    def cpp_core(self) -> Any:
        """The algorithms in C++, in the fluid if there is one; None in Python."""
        core = self.tree.reduced_core
        return core if core is None else core.in_fluid(self.fluid)

    @property
    def plain_core(self) -> Any:
        """The same, but None with mimic joints."""
        return self.cpp_core if self.tree.projection is None else None

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, in the order of the tree."""
        return self.tree.link_names

    @property
    def pinocchio(self) -> Any:
        """A copy of the ``pinocchio.Model`` behind this one."""
        return self.tree.pinocchio.copy()

    def _default_end_effector(self) -> str:
        link_names = self.link_names
        if not link_names:
            return str(self.tree.pinocchio.names[-1])
        # Behind the most joints, without the coupled ones of grippers; of those links the farthest
        # from the joint that carries it.
        m, ids, mimics = self.tree.pinocchio, [*map(self.frame_id, link_names)], self.tree.mimics
        coupled = {*mimics, *(mimic.leader for mimic in mimics.values())}

        def reach(frame_id: int) -> tuple[int, float]:
            frame = m.frames[frame_id]
            count = sum(m.names[joint] not in coupled for joint in m.supports[frame.parentJoint])
            return count, float(np.linalg.norm(frame.placement.translation))

        return link_names[max(range(len(link_names)), key=lambda k: (reach(ids[k]), k))]

    def __repr__(self) -> str:
        fluid = "" if self.fluid is None else ", in a fluid"
        return (
            f"{type(self).__name__}('{self.name}', {self.base} base, n={self.n}, nv={self.nv}, "
            f"total_mass={self.total_mass:.4g} kg, end_effector='{self.end_effector}'{fluid})"
        )

    def _repr_html_(self) -> str:
        """Return the joints with their limits as a table, for notebooks."""
        joints = self.joints
        columns = (joints.lower, joints.upper, joints.velocity, joints.effort)
        table_rows = "".join(
            f"<tr><td>{escape(name)}</td>"
            + "".join(f"<td>{column[k]:.4g}</td>" for column in columns)
            + "</tr>"
            for k, name in enumerate(self.joint_names)
        )
        titles = ("joint", "lower", "upper", "velocity", "effort")
        header = "".join(f"<th>{name}</th>" for name in titles)
        return f"<p>{escape(repr(self))}</p><table><tr>{header}</tr>{table_rows}</table>"


def require_model(model: object, requester: object) -> None:
    """Check that what is given as a robot is its model.

    Raises:
        ModelError: it is none; the message says where it comes from.
    """
    if not isinstance(model, RobotModel):
        raise ModelError(
            f"{type(requester).__name__} is made for the model of a robot, from load(file) or "
            f"robots.load(name) of vms_ph_io; given: {model!r}"
        )
