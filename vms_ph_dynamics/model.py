# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robot: a kinematic tree on a base that is fixed, planar or floating."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from .arrays import Array, frozen, vector
from .errors import InertiaWarning
from .evaluation import Evaluation
from .evaluation_batch import EvaluationBatch, checked_rows
from .robot.building import GRAVITY as GRAVITY
from .robot.building import build, end_effector_of
from .robot.inertia import InertiaDefect
from .robot.inertia_repair import InertiaMode
from .robot.kinematic_tree import Axes
from .robot_model import RobotModel


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

    HINTS: ClassVar[Mapping[str, str]] = {
        "evaluate(q, v).M": "M mass_matrix inertia_matrix crba",
        "evaluate_batch(Q, V)": "batch evaluate_many mass_matrix_batch crba_batch",
        "StandardForm(model).rate_batch(Q, evaluate_batch(Q, V).momentum, ports)": (
            "forward_dynamics_batch aba_batch rates rate_batch"
        ),
        "evaluate(q, v).C": "C coriolis coriolis_matrix",
        "evaluate(q, v).g": "g gravity_torque gravity_torques gravity_vector generalized_gravity",
        "C @ v + g of evaluate(q, v)": "nle bias nonlinear_effects",
        "M @ a + C @ v + g of evaluate(q, v)": "rnea inverse_dynamics",
        "StandardForm(model).rate(state, ports)": "aba forward_dynamics step",
        "kinetic_energy and potential_energy of evaluate(q, v)": (
            "kinetic_energy potential_energy energy hamiltonian H"
        ),
        "evaluate(q, v).momentum": "momentum",
        "momenta(evaluate(q, v)) of vms_ph_dynamics": (
            "com center_of_mass centre_of_mass centroidal_momentum"
        ),
        "evaluate(q, v).M_b": "locked_inertia",
        "evaluate(q, v).q_full, the configuration of Pinocchio": "full_configuration q_full",
        'placement("frame", q)': "forward_kinematics frame_placement frame_pose fk pose",
        "base_pose(q)[:3, :3]": "base_rotation",
        "link_names": "frames frame_names links bodies",
        "joints.lower and joints.upper": "joint_limits limits lower_limits upper_limits",
        "joints.effort and joints.velocity": "torque_limits effort_limits velocity_limits",
        "nv, or n joints": "dof ndof dofs njoints",
        "pinocchio": "model pin data",
        "DecoupledForm(model)": "decouple decoupled",
        "without_gravity(), or gravity= where it is loaded": "with_gravity set_gravity",
        'simulate(..., effects=["friction"])': "friction",
        "simulate(..., effects=[Payload(...)])": "with_payload add_payload payload",
        "total_mass": "mass",
        "home": "q0",
        "neutral_configuration()": "neutral",
    }

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
                was made, or the farthest link of the longest chain, when None.
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
        built_robot = build(xml, base, gravity, locked_joints)
        model = cls(
            built_robot.pinocchio,
            end_effector_of(xml) if end_effector is None else end_effector,
            mimics=built_robot.mimics,
            links=built_robot.link_inertias,
            inertia=inertia,
        )
        model.urdf = xml if gravity is None and not locked_joints else ""
        _warn_of_repairs(model.repairs)
        if built_robot.home or built_robot.home_base:
            joints = {name: x for name, x in built_robot.home.items() if name in model.joint_names}
            pose = built_robot.home_base if model.base == "floating" else None
            model = model.with_home(model.configuration(joints, pose or None))
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
            end_effector: name of a frame; when None, the farthest link of the longest chain.
            inertia: as for :meth:`from_urdf`, for the bodies of the model.
            tools: names of frames of further wrench ports.

        Raises:
            ModelError: a joint type is not covered, or the robot is not physical.

        Warns:
            InertiaWarning: inertias were repaired.
        """
        copy = pin_model.copy()
        # A model built by hand may lack frames, but every joint can be named as an end effector.
        for i in range(1, copy.njoints):
            if not copy.existFrame(copy.names[i], pin.FrameType.JOINT):
                copy.addJointFrame(i)
        model = cls(copy, end_effector, inertia=inertia)
        _warn_of_repairs(model.repairs)
        return model.with_tools(tools)

    def evaluate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Evaluation:
        """Return the terms of the equations of motion at a state.

        Args:
            q: (nq,) configuration.
            v: (nv,) velocity.

        Raises:
            StateError: the state has a wrong shape, is not finite, or has a base rotation that is
                not normalised.
        """
        if self.tree.reduced_core is not None:
            state = self.tree.reduced_core.state(q, v)
            if state is not None:
                return Evaluation(self, *state)
        checked_state = self.checked_configuration(q), vector(v, self.nv, "v")
        return Evaluation(self, *(frozen(x.copy()) for x in checked_state))

    def evaluate_batch(
        self,
        Q: npt.ArrayLike,
        V: npt.ArrayLike,
        *,
        terms: Iterable[str] = (),
        threads: int | None = None,
    ) -> EvaluationBatch:
        """Return the terms of the equations of motion at N states, in contiguous arrays.

        With the C++ core they are computed on several threads, else state after state.

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
        self.frame_id(frame)  # before q, for who confuses the order of the two
        return self.evaluate(q, np.zeros(self.nv)).placement(frame)

    def jacobian(self, frame: str, q: Array, axes: Axes = "own") -> Array:
        """Return the Jacobian of any frame, linear first, (6,nv).

        Args:
            frame: name of a link, a joint or another frame.
            q: (nq,) configuration.
            axes: ``"own"`` for those of the frame, ``"world"`` for inertial axes.

        Raises:
            ModelError: there is no such frame; the message lists the links.
        """
        self.frame_id(frame)
        return self.evaluate(q, np.zeros(self.nv)).jacobian(frame, axes)


def _warn_of_repairs(repairs: Sequence[InertiaDefect]) -> None:
    if repairs:
        repair_texts = "; ".join(f"{repair}" for repair in repairs)
        # Of the caller of the class method that calls this.
        warnings.warn(f"the inertia was repaired: {repair_texts}", InertiaWarning, stacklevel=3)
