# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Terms of many recorded states besides those of an :class:`.EvaluationBatch`.

The rate of the momentum, forces at frames, and what a fluid adds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..evaluation import Evaluation
from ..evaluation_batch import EvaluationBatch
from ..model import VMSModel


def momentum_rate(batch: EvaluationBatch) -> Array:
    """Return the rate of the momentum of each state without efforts, ``C^T v - g``, (N, nv)."""
    return np.asarray(np.einsum("kji,kj->ki", batch.C, batch.V) - batch.g)


def generalised_forces(model: VMSModel, q: Array, wrenches: Array, frame: int) -> Array:
    """Return the generalised forces ``J^T W`` (N,nv) of wrenches (N,6) at a frame, in its axes.

    Args:
        model: the robot.
        q: (N,nq) configurations.
        wrenches: (N,6) linear first, N and N m.
        frame: Pinocchio's index of the frame.
    """
    forces, zero_velocity = np.empty((len(q), model.nv)), np.zeros(model.nv)
    for k, wrench in enumerate(wrenches):
        forces[k] = Evaluation(model, q[k], zero_velocity).jacobian(frame).T @ wrench
    return forces


DRAG_COMPONENTS = ("linear", "quadratic")
"""Drag in proportion to a component of the twist, and to its square."""


@dataclass(frozen=True)
class FluidTerms:
    """What a fluid adds to the energy balance of N states.

    Attributes:
        energy: (N,) kinetic energy of the added mass and potential energy of buoyancy, J; zero
            potential is with the centre of buoyancy at the height of the inertial frame's origin.
        drag_power: power that drag dissipates, (N,), W, by the name of the link and one of
            :data:`DRAG_COMPONENTS`, as ``link.linear``; only of links that have such drag.
    """

    energy: Array
    drag_power: Mapping[str, Array]

    @property
    def dissipated_power(self) -> Array:
        """The power of all drag, (N,), W."""
        return np.sum([np.zeros(len(self.energy)), *self.drag_power.values()], axis=0)


def drag_names(model: VMSModel) -> tuple[str, ...]:
    """Return the names of the drag of a robot; none without a fluid."""
    return tuple(
        f"{body.link}.{name}"
        for body in (model.fluid.bodies if model.fluid is not None else ())
        for name, drag in zip(DRAG_COMPONENTS, (body.linear_drag, body.quadratic_drag), strict=True)
        if drag.any()
    )


def fluid_terms(model: VMSModel, q: Array, v: Array) -> FluidTerms:
    """Return what the fluid of a model adds at configurations (N,nq) and velocities (N,nv)."""
    energy, drag = np.zeros(len(q)), {name: np.zeros(len(q)) for name in drag_names(model)}
    if model.fluid is None:
        return FluidTerms(energy, drag)
    tree, data = model.tree, model.tree.pinocchio.createData()
    bodies = [(body, model.frame_id(body.link)) for body in model.fluid.bodies]
    for k in range(len(q)):
        full_state = tree.full_configuration(q[k]), tree.full_velocity(v[k])
        pin.forwardKinematics(tree.pinocchio, data, *full_state)
        for body, frame in bodies:
            twist = pin.getFrameVelocity(tree.pinocchio, data, frame).vector
            placement = pin.updateFramePlacement(tree.pinocchio, data, frame)
            centre = placement.act(body.centre_of_buoyancy)
            fluid_mass = model.fluid.density * body.volume
            energy[k] += 0.5 * twist @ body.added_mass @ twist + fluid_mass * tree.gravity @ centre
            powers = body.linear_drag @ twist**2, body.quadratic_drag @ np.abs(twist) ** 3
            for component, power in zip(DRAG_COMPONENTS, powers, strict=True):
                if f"{body.link}.{component}" in drag:
                    drag[f"{body.link}.{component}"][k] = power
    return FluidTerms(energy, drag)
