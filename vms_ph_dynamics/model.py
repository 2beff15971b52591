# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robot: a kinematic tree on a base that is fixed, planar or floating."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from .arrays import Array, frozen, vector
from .errors import InertiaWarning, missing_attribute
from .evaluation import Evaluation
from .evaluation_batch import EvaluationBatch, checked_rows
from .robot.building import GRAVITY as GRAVITY
from .robot.building import build, end_effector_of
from .robot.inertia import InertiaDefect
from .robot.inertia_repair import InertiaMode
from .robot_model import RobotModel

_AT_A_STATE = "evaluate(q, v).{}"
_NAMES_ELSEWHERE = {
    "M": _AT_A_STATE.format("M"),
    "mass_matrix": _AT_A_STATE.format("M"),
    "C": _AT_A_STATE.format("C"),
    "coriolis": _AT_A_STATE.format("C"),
    "g": _AT_A_STATE.format("g"),
    "kinetic_energy": _AT_A_STATE.format("kinetic_energy"),
    "potential_energy": _AT_A_STATE.format("potential_energy"),
    "forward_kinematics": 'placement("frame", q)',
    "frame_placement": 'placement("frame", q)',
    "fk": 'placement("frame", q)',
    "pose": 'placement("frame", q)',
    "base_rotation": "base_pose(q)[:3, :3]",
    "momentum": _AT_A_STATE.format("p"),
    "frames": "link_names",
    "frame_names": "link_names",
    "joint_limits": "joints.lower and joints.upper",
    "friction": 'simulate(..., effects=["friction"]) with that of the description, or a Friction',
    "with_payload": "simulate(..., effects=[Payload(...)])",
    "mass": "total_mass",
    "q0": "home",
    "neutral": "neutral_configuration()",
}
"""Our names for terms, by the names that other libraries give them."""


class VMSModel(RobotModel):
    """A vehicle-manipulator system: a robot with its equations of motion.

    Its sizes, frames and configurations are those of :class:`.RobotModel`.

    Examples:
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> d = panda.evaluate(panda.home, np.zeros(panda.nv))
        >>> d.M.shape, d.g.shape  # mass matrix and gravity torques
        ((7, 7), (7,))
        >>> panda.placement("panda_hand", panda.home).shape
        (4, 4)
    """

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

    if not TYPE_CHECKING:  # mypy reports wrong names itself

        def __getattr__(self, name: str) -> Any:
            """Suggest our name where that of another library is used."""
            raise missing_attribute(self, name, _NAMES_ELSEWHERE)

    def evaluate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Evaluation:
        """Return the terms of the equations of motion at a state.

        Args:
            q: (nq,) configuration.
            v: (nv,) velocity.

        Raises:
            StateError: the state has a wrong shape, is not finite, or has a base rotation that is
                not normalised.
        """
        if self.tree.projection is None and self.tree.in_cpp is not None:
            state = self.tree.in_cpp.state(q, v)
            if state is not None:
                return Evaluation(self, *state)
        checked = self.checked_configuration(q), vector(v, self.nv, "v")
        return Evaluation(self, *(frozen(x.copy()) for x in checked))

    def evaluate_batch(
        self,
        Q: npt.ArrayLike,
        V: npt.ArrayLike,
        *,
        terms: Iterable[str] = (),
        threads: int | None = None,
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

        Raises:
            StateError: an array has a wrong shape or a row that is not a state; the message says
                which.
            OptionError: there is no term of this name.
        """
        q, v = checked_rows(self, Q, V, "V")
        batch = EvaluationBatch(self, q, v, threads)
        batch.compute(terms)
        return batch

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


def _warn(repairs: Sequence[InertiaDefect]) -> None:
    if repairs:
        changes = "; ".join(f"{repair}" for repair in repairs)
        # Of the caller of the class method that calls this.
        warnings.warn(f"the inertia was repaired: {changes}", InertiaWarning, stacklevel=3)
