# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robot: a kinematic tree on a base that is fixed, planar or floating."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from .actuation.fluid import Fluid
from .arrays import Array, frozen, vector
from .errors import InertiaWarning, ModelError, StateError
from .evaluation import Evaluation
from .evaluation_batch import EvaluationBatch, checked_rows
from .robot.building import build
from .robot.extensions import GRAVITY as GRAVITY
from .robot.extensions import end_effector_of
from .robot.inertia_defects import InertiaDefect
from .robot.inertia_modes import InertiaMode
from .robot.joints import NORM_TOLERANCE
from .robot.kinematic_tree import KinematicTree
from .robot.link_inertia import LinkInertia
from .robot.mimic import Mimic
from .robot.tools import checked_tools


class VMSModel:
    """A vehicle-manipulator system: ``n`` joints on a base of ``b`` degrees of freedom.

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
        repairs: what was repaired of the inertias of the description; empty for most robots.
        end_effector: name of the frame the end-effector wrench acts at.
        end_effector_id: its index among the frames of Pinocchio's model.
        tools: names of the frames of further wrench ports, such as a second hand or feet.
        tool_ids: their indices.
        gravity: (3,) in the inertial frame, m/s^2.
        base_gravity: the same in the axes of the base's position coordinates. These are the
            inertial axes unless a URDF mounts its floating or planar joint with a rotation, see
            :attr:`.KinematicTree.mount`.
        home: (nq,) configuration in which it starts: that of a bundled robot, else the neutral one;
            see :meth:`with_home`.
        fluid: the fluid that surrounds the robot, or None.
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
            end_effector: name of a frame; when None, the last link that a joint moves.
            mimics: the joints that mimic others, by name.
            links: the inertias of its links; those of its bodies when None.
            inertia: as for :meth:`from_urdf`.
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
        self.end_effector_id = tree.frame_id(self.end_effector)
        self.tools: tuple[str, ...] = ()
        self.tool_ids: tuple[int, ...] = ()
        self.home = frozen(self.neutral_configuration())
        self.fluid = fluid
        if fluid is not None:
            fluid.check(tree)

    @classmethod
    def from_urdf(
        cls,
        xml: str,
        base: Literal["auto", "fixed", "planar", "floating"] = "auto",
        end_effector: str | None = None,
        gravity: Sequence[float] | None = None,
        locked_joints: Iterable[str] | Mapping[str, float] = (),
        inertia: InertiaMode = "auto",
        tools: Iterable[str] = (),
    ) -> "VMSModel":
        """Return the model of a robot described by the text of a URDF.

        Args:
            xml: the URDF itself; :func:`vms_ph_io.load_urdf` reads files: URDF, xacro and MJCF.
            base: kind of base; ``"auto"`` reads it from a first joint of URDF type floating or
                planar or from the free joint of an MJCF, and is fixed otherwise.
            end_effector: a link or joint name; that of the MJCF from which the text
                was made, or the last link that a joint moves, when None.
            gravity: (3,) in the inertial frame, m/s^2; when None, that of the MJCF from which the
                text was made, or 9.81 m/s^2 downwards.
            locked_joints: names of joints to fix, at zero or at the value given (rad or m).
            inertia: what is done about inertias that no rigid body has, and joints that move no
                inertia: ``"auto"`` repairs negligible ones with a warning and refuses grave ones,
                ``"strict"`` refuses all, ``"repair"`` repairs all, ``"as_given"`` takes all where
                the mass matrix is positive definite. :attr:`repairs` lists what was repaired.
            tools: links or joints of further wrench ports.

        Raises:
            ModelError: the text is not a URDF, or the robot is not physical.

        Warns:
            InertiaWarning: inertias were repaired; the message says by how much that changes the
                mass matrix.
        """
        built = build(xml, base, gravity, locked_joints)
        model = cls(
            built.pinocchio,
            end_effector_of(xml) if end_effector is None else end_effector,
            mimics=built.mimics,
            links=built.links,
            inertia=inertia,
        )
        _warn(model.repairs)
        return model.with_tools(tools)

    @classmethod
    def from_pinocchio(
        cls,
        pin_model: Any,
        end_effector: str | None = None,
        inertia: InertiaMode = "auto",
        tools: Iterable[str] = (),
    ) -> "VMSModel":
        """Return the model of a ``pinocchio.Model``; its first joint determines the base.

        Args:
            pin_model: the model; it is copied.
            end_effector: name of a frame; when None, the last link that a joint moves.
            inertia: as for :meth:`from_urdf`, for the bodies of the model.
            tools: names of frames of further wrench ports.

        Raises:
            ModelError: a joint type is not covered, or the robot is not physical.

        Warns:
            InertiaWarning: inertias were repaired.
        """
        ours = pin_model.copy()
        # A model built by hand may lack frames, but every joint can be named as an end effector.
        for i in range(1, ours.njoints):
            if not ours.existFrame(ours.names[i], pin.FrameType.JOINT):
                ours.addJointFrame(i)
        model = cls(ours, end_effector, inertia=inertia)
        _warn(model.repairs)
        return model.with_tools(tools)

    def with_native(self, native: bool | None) -> "VMSModel":
        """Return this robot with its terms computed in C++ or in Python.

        Args:
            native: True requires the C++ core, False excludes it, None uses it where it is
                installed and covers the robot. Robots with joints that mimic others or in a fluid
                take the terms of their rigid bodies from it.

        Raises:
            ModelError: ``native=True``, but the core is not installed or does not cover the robot.
        """
        model = copy(self)
        model.tree = self.tree.with_native(native)
        return model

    @property
    def is_native(self) -> bool:
        """Whether the terms of the rigid bodies are computed in C++."""
        return self.tree.in_cpp is not None

    def evaluate(
        self, q: npt.ArrayLike, v: npt.ArrayLike, *, native: bool | None = None
    ) -> Evaluation:
        """Return the terms of the equations of motion at a state.

        Args:
            q: (nq,) configuration.
            v: (nv,) velocity.
            native: as for :meth:`with_native`, which saves time if it is called once; None for the
                choice of this model.

        Raises:
            StateError: the state has a wrong shape, is not finite, or has a base rotation that is
                not normalised.
            ModelError: ``native=True``, but the core is not installed or does not cover the robot.
        """
        if native is not None:
            return self.with_native(native).evaluate(q, v)
        if self.tree.projection is None and self.tree.in_cpp is not None:
            found = self.tree.in_cpp.state(q, v)
            if found is not None:
                return Evaluation(self, *found)
        checked = self.checked_configuration(q), vector(v, self.nv, "v")
        return Evaluation(self, *(frozen(x.copy()) for x in checked))

    def evaluate_batch(
        self,
        Q: npt.ArrayLike,
        V: npt.ArrayLike,
        *,
        terms: Iterable[str] = (),
        threads: int | None = None,
        native: bool | None = None,
    ) -> EvaluationBatch:
        """Return the terms of the equations of motion at N states, in contiguous arrays.

        With the C++ core they are computed on several threads; robots in a fluid are evaluated
        state after state.

        Args:
            Q: (N,nq) configurations.
            V: (N,nv) velocities.
            terms: names of terms to compute at once in one pass, see
                :data:`.evaluation_batch.TERMS`; others are computed on first use.
            threads: number of threads; that of the processors when None.
            native: as for :meth:`evaluate`.

        Raises:
            StateError: an array has a wrong shape or a row that is not a state; the message says
                which.
            OptionError: there is no term of this name.
            ModelError: ``native=True``, but the core is not installed or does not cover the robot.
        """
        model = self if native is None else self.with_native(native)
        q, v = checked_rows(model, Q, V, "V")
        batch = EvaluationBatch(model, q, v, threads)
        batch.compute(terms)
        return batch

    def checked_configuration(self, q: npt.ArrayLike) -> Array:
        """Return ``q`` as an array after checking its shape, entries and normalisation.

        Raises:
            StateError: the check fails; the message states how.
        """
        x = vector(q, self.nq, f"q of a robot on a {self.base} base")
        for rotation in self.tree.rotations:
            length = rotation.length(x)
            if abs(length - 1.0) > NORM_TOLERANCE:
                raise StateError(
                    f"{rotation} must have length 1 within {NORM_TOLERANCE:g}; its length is "
                    f"{length:.9g}; normalise_configuration corrects it"
                )
        return x

    def normalise_configuration(self, q: npt.ArrayLike) -> Array:
        """Return ``q`` with every quaternion and (cos, sin) pair scaled to length one.

        Raises:
            StateError: q has a wrong shape, or a rotation of length zero.
        """
        x = vector(q, self.nq, "q").copy()
        for rotation in self.tree.rotations:
            length = rotation.length(x)
            if length < NORM_TOLERANCE:
                raise StateError(f"{rotation} has length zero and is not a rotation")
            x[rotation.entries] /= length
        return x

    def neutral_configuration(self) -> Array:
        """Return the configuration with every joint at zero and the base at the origin, (nq,)."""
        return self.tree.neutral()

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a configuration with joints uniform within their limits, (nq,).

        Joints without limits are drawn from (-pi, pi), or (-1, 1) m; the base pose is uniform over
        rotations and a cube of 2 m.
        """
        q = self.neutral_configuration()
        v = np.zeros(self.nv)
        lower, upper = self.joints.lower, self.joints.upper
        wide = np.where(self.joints.prismatic, 1.0, np.pi)
        low = np.where(np.isfinite(lower), lower, -wide)
        high = np.where(np.isfinite(upper), upper, wide)
        # Limits of joints that mimic others may leave one position only; 0.0 turns -0.0 into zero.
        v[self.b :] = rng.uniform(low, np.maximum(low, high) + 0.0)
        q = self.integrate(q, v)
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

    def in_fluid(self, fluid: Fluid) -> "VMSModel":
        """Return this robot immersed in a fluid.

        Raises:
            ModelError: the fluid names a link that the robot lacks.
        """
        fluid.check(self.tree)
        immersed = copy(self)
        immersed.fluid = fluid
        return immersed

    def without_gravity(self) -> "VMSModel":
        """Return this robot in a place without gravity, as one whose hardware carries its weight.

        Raises:
            ModelError: the robot is in a fluid, whose buoyancy would remain.
        """
        if self.fluid is not None:
            raise ModelError(
                f"'{self.name}' is in a fluid, whose buoyancy acts without gravity too; take the "
                "robot without the fluid"
            )
        weightless = copy(self)
        weightless.tree = self.tree.without_gravity()
        weightless.gravity = weightless.tree.gravity
        weightless.base_gravity = weightless.tree.base_gravity
        return weightless

    def with_home(self, home: Array) -> "VMSModel":
        """Return this robot with another configuration in which it starts, (nq,).

        Raises:
            StateError: it is no configuration of this robot.
        """
        placed = copy(self)
        placed.home = frozen(self.checked_configuration(home))
        return placed

    def with_tools(self, tools: Iterable[str]) -> "VMSModel":
        """Return this robot with these further wrench ports.

        Raises:
            ModelError: the robot lacks such a frame, or a name is not that of one further port.
        """
        equipped = copy(self)
        equipped.tools = checked_tools(tools, self.end_effector)
        equipped.tool_ids = tuple(map(self.tree.frame_id, equipped.tools))
        return equipped

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
        v = np.zeros(self.nv)
        for name, position in joints.items():
            v[self.b + self.joint_index(name)] = vector([position], 1, f"position of '{name}'")[0]
        q = self.integrate(self.neutral_configuration(), v)
        if base is not None:
            size = self.nq_base
            q[:size] = vector(base, size, f"the pose of a {self.base} base")
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
            joints = ", ".join(self.joint_names)
            raise StateError(
                f"'{name}' is no joint of '{self.name}'; its joints are {joints}"
            ) from None

    def placement(self, frame: str, q: Array) -> Array:
        """Return the pose of any frame in the inertial frame, (4,4), m.

        Args:
            frame: name of a link, a joint or another frame.
            q: (nq,) configuration.

        Raises:
            ModelError: there is no such frame; the message lists the links.
        """
        return self.evaluate(q, np.zeros(self.nv)).placement(frame)

    def jacobian(self, frame: str, q: Array) -> Array:
        """Return the Jacobian of any frame, in the axes of that frame, linear first, (6,nv).

        Args:
            frame: name of a link, a joint or another frame.
            q: (nq,) configuration.

        Raises:
            ModelError: there is no such frame; the message lists the links.
        """
        return self.evaluate(q, np.zeros(self.nv)).jacobian(frame)

    def frame_id(self, name: str) -> int:
        """Return Pinocchio's index of a frame; that of a link if a joint has the same name.

        Raises:
            ModelError: there is no such frame; the message lists the links.
        """
        return self.tree.frame_id(name)

    def is_continuous(self, entry: int) -> bool:
        """Return whether a (cos, sin) pair of a joint begins at an entry of a configuration."""
        pair = slice(entry, entry + 2)
        return any(rotation.entries == pair for rotation in self.tree.rotations)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the n joints, in the order of the joint rates."""
        return self.joints.names

    @property
    def is_plain(self) -> bool:
        """Whether Pinocchio's terms are those of the robot: no mimic joints and no fluid."""
        return self.tree.projection is None and self.fluid is None

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, in the order of the tree."""
        return self.tree.link_names

    @property
    def pinocchio(self) -> Any:
        """A copy of the ``pinocchio.Model`` behind this one."""
        return self.tree.pinocchio.copy()

    def _default_end_effector(self) -> str:
        links = self.link_names
        if not links:
            return str(self.tree.pinocchio.names[-1])
        # A camera or a stand on the root link is none, wherever the file lists it.
        root = 0 if self.base == "fixed" else 1
        frames = self.tree.pinocchio.frames
        moving = [name for name in links if frames[self.frame_id(name)].parentJoint > root]
        return moving[-1] if moving else links[-1]

    def __repr__(self) -> str:
        fluid = "" if self.fluid is None else ", in a fluid"
        return (
            f"VMSModel('{self.name}', {self.base} base, n={self.n}, nv={self.nv}, "
            f"total_mass={self.total_mass:.4g} kg, end_effector='{self.end_effector}'{fluid})"
        )


def _warn(repairs: Sequence[InertiaDefect]) -> None:
    if repairs:
        changes = "; ".join(f"{repair}" for repair in repairs)
        # Of the caller of the class method that calls this.
        warnings.warn(f"the inertia was repaired: {changes}", InertiaWarning, stacklevel=3)
