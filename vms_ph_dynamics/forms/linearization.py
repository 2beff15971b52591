# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Exact linearisation of the dynamics around a state."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..errors import ModelError
from ..evaluation import Evaluation
from ..groups import base_group
from .form import Form
from .ports import Ports
from .state import PHState


@dataclass(frozen=True)
class Linearization:
    """``d/dt (dq, dv) = A (dq, dv) + B du`` around a motion.

    ``dq`` is the configuration error in the base frame and the joints (as
    :meth:`VMSModel.difference` gives it), ``dv`` the velocity error, ``du`` the change of
    ``(wrench_base, torque)``.

    Attributes:
        A: (2nv,2nv).
        B: (2nv,nv).
        acceleration: (nv,) of the motion itself; zero at an equilibrium.
    """

    A: Array
    B: Array
    acceleration: Array


def linearize(form: Form, x: PHState, ports: Ports) -> Linearization:
    """Return the linear dynamics around a state under held efforts.

    Derivatives are Pinocchio's analytic ones of the inverse dynamics; an end-effector wrench is
    constant in the axes of the end effector.

    Args:
        form: the form that the state belongs to.
        x: at an equilibrium or along a trajectory.
        ports: the held efforts.

    Raises:
        StateError: a state or effort has the wrong shape or is not finite.
        ModelError: the robot is in a fluid.
    """
    model = form.model
    if model.fluid is not None:
        raise ModelError("the linearisation does not cover robots in a fluid")
    v = form.velocity(x)
    ports = Ports.checked(model, ports)
    d = Evaluation(model, x.q, v)
    acceleration = np.linalg.solve(d.M, ports.force(d) - d.C @ v)
    by_q, by_v = _inverse_dynamics(d, acceleration, ports)
    nv, b = model.nv, model.b
    if ports.friction is not None:
        by_v[b:, b:] += np.diag(ports.friction.slope(d.v[b:]))
    a = np.zeros((2 * nv, 2 * nv))
    # Errors expressed in the base frame are transported by the motion of the base.
    if model.base != "fixed":
        a[:b, :b] = -base_group(model.base).ad(v[:b])
    a[:nv, nv:] = np.eye(nv)
    a[nv:, :nv] = -np.linalg.solve(d.M, by_q)
    a[nv:, nv:] = -np.linalg.solve(d.M, by_v)
    inputs = np.vstack([np.zeros((nv, nv)), np.linalg.inv(d.M)])
    return Linearization(frozen(a), frozen(inputs), frozen(acceleration))


def _inverse_dynamics(d: Evaluation, acceleration: Array, ports: Ports) -> tuple[Array, Array]:
    """Return the derivatives of the inverse dynamics by configuration and velocity, (nv,nv)."""
    tree, data = d.tree, d.tree.data()
    forces = pin.StdVec_Force()
    forces.extend([pin.Force.Zero() for _ in range(tree.pinocchio.njoints)])
    wrenches = {d.model.end_effector: ports.wrench_end_effector} | dict(ports.wrench_tools or {})
    for name, wrench in wrenches.items():
        if wrench is not None:
            frame = tree.pinocchio.frames[tree.frame_id(name)]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(wrench))
    q, v, a = d.q_origin, d.v_full, tree.full_velocity(acceleration)
    by_q, by_v, _ = pin.computeRNEADerivatives(tree.pinocchio, data, q, v, a, forces)
    by_q, by_v = by_q.copy(), by_v.copy()
    if not ports.gravity:
        by_q -= pin.computeGeneralizedGravityDerivatives(tree.pinocchio, data, q)
    return tree.projected(by_q), tree.projected(by_v)
