# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Capture of a free body: from then on it is rigidly attached to a frame of the robot."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from .arrays import Array, copy_with, frozen
from .errors import ModelError, StateError
from .evaluation import Evaluation
from .model import VMSModel
from .robot.inertia import defect_of


@dataclass(frozen=True)
class Body:
    """A rigid body, described in the axes of the frame that it will be attached to.

    Attributes:
        mass: kg.
        centre: (3,) centre of mass relative to the origin of the frame, m.
        inertia: (3,3) about the centre of mass, kg m^2.
    """

    mass: float
    centre: npt.ArrayLike
    inertia: npt.ArrayLike

    def spatial_inertia(self) -> Array:
        """Return the spatial inertia about the origin of the frame, (6,6), linear first.

        Raises:
            ModelError: it is the inertia of no body.
        """
        return frozen(np.array(self.pinocchio_inertia().matrix()))

    def pinocchio_inertia(self) -> pin.Inertia:
        """Return the ``pinocchio.Inertia`` in the frame.

        Raises:
            ModelError: it is the inertia of no body.
        """
        centre, inertia = np.asarray(self.centre, float), np.asarray(self.inertia, float)
        if centre.shape != (3,) or inertia.shape != (3, 3):
            message = f"a body needs centre (3,) and inertia (3,3); given: {centre.shape} and "
            message += f"{inertia.shape}"
            raise ModelError(message)
        is_physical = (
            np.isfinite([self.mass, *centre, *inertia.ravel()]).all()
            and self.mass > 0.0
            and np.allclose(inertia, inertia.T)
            and defect_of(self.mass, inertia) is None
        )
        if not is_physical:
            moments = np.linalg.eigvalsh(0.5 * (inertia + inertia.T))
            raise ModelError(
                "a body has a positive mass and a symmetric inertia with principal moments that "
                "are not negative, none larger than the sum of the others; given: mass "
                f"{self.mass:g} kg, principal moments {', '.join(f'{m:.3g}' for m in moments)}"
            )
        return pin.Inertia(self.mass, centre, inertia)


@dataclass(frozen=True)
class Capture:
    """The robot with the body attached, and its state just after the capture.

    Attributes:
        model: the robot that carries the body.
        q: (nq,) configuration, as before.
        v: (nv,) velocity after the capture.
        impulse: (6,) that the body received at the origin of the frame, in its axes, linear first,
            N s and N m s.
        lost_energy: kinetic energy lost by the capture, J; never negative.
    """

    model: VMSModel
    q: Array
    v: Array
    impulse: Array
    lost_energy: float


def with_body(model: VMSModel, body: Body, frame: str | None = None) -> VMSModel:
    """Return a robot with a body rigidly attached to a frame, the end effector when None.

    Raises:
        ModelError: there is no such frame, the inertia is that of no body, or the frame belongs to
            no link that moves.
    """
    frame_id = model.frame_id(model.end_effector if frame is None else frame)
    model_frame = model.tree.pinocchio.frames[frame_id]
    if model_frame.parentJoint == 0:
        raise ModelError(
            f"'{model_frame.name}' does not move; a body attached to it would carry no energy"
        )
    inertias = list(model.tree.pinocchio.inertias)[1:]
    parent = model_frame.parentJoint - 1
    inertias[parent] = inertias[parent] + model_frame.placement.act(body.pinocchio_inertia())
    tree = model.tree.with_inertias(inertias)
    return copy_with(model, tree=tree, total_mass=tree.total_mass, urdf="")


def capture(
    model: VMSModel,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    body: Body,
    twist: npt.ArrayLike,
    frame: str | None = None,
) -> Capture:
    """Return what follows from attaching a free body to a frame of the robot in an instant.

    The velocity of the body becomes that of the frame, under an impulse between the two alone; no
    joint resists it: ``(M + J^T I J) v+ = M v + J^T I twist`` with the Jacobian J of the frame in
    its own axes and the inertia I of the body. The momentum of both together is conserved, linear
    and angular; the kinetic energy of their relative motion over the combined mobility is lost.

    Args:
        model: the robot without the body.
        q: (nq,) its configuration.
        v: (nv,) its velocity.
        body: captured body in the axes of the frame.
        twist: (6,) of the body at the origin of the frame and in its axes, relative to the inertial
            frame, linear first, m/s and rad/s.
        frame: name of the frame; the end effector when None.

    Raises:
        ModelError: as :func:`with_body`.
        StateError: an argument has the wrong shape or is not finite.
    """
    body_twist = np.asarray(twist, float)
    if body_twist.shape != (6,) or not np.isfinite(body_twist).all():
        raise StateError(f"twist must be 6 finite numbers; given: {twist!r}")
    d = model.evaluate(q, v)
    loaded_model, inertia = with_body(model, body, frame), body.spatial_inertia()
    jacobian = d.jacobian(model.frame_id(model.end_effector if frame is None else frame))
    mass_matrix = Evaluation(loaded_model, d.q, d.v).M
    v_after = np.linalg.solve(mass_matrix, d.M @ d.v + jacobian.T @ (inertia @ body_twist))
    twist_change = jacobian @ v_after - body_twist
    energy_before = d.kinetic_energy + 0.5 * float(body_twist @ inertia @ body_twist)
    lost_energy = energy_before - 0.5 * float(v_after @ mass_matrix @ v_after)
    return Capture(loaded_model, d.q, frozen(v_after), frozen(inertia @ twist_change), lost_energy)
