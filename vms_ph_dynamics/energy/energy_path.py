# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Terms of many recorded states besides those of an :class:`.EvaluationBatch`.

The rate of the momentum, forces at frames, and drag.
"""

import numpy as np

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


def drag_efforts(d: Evaluation) -> dict[str, Array]:
    """Return the efforts (nv,) that overcome the drag of each link, N and N m.

    Their names are ``link.linear`` and ``link.quadratic``, for drag in proportion to a component of
    the twist and to its square; only those of links that have such drag.
    """
    efforts: dict[str, Array] = {}
    for body in () if d.model.fluid is None else d.model.fluid.bodies:
        jacobian = d.jacobian(body.link)
        twist = jacobian @ d.v
        parts = ("linear", body.linear_drag, twist), ("quadratic", body.quadratic_drag, twist**2)
        for name, drag, power in parts:
            if drag.any():
                efforts[f"{body.link}.{name}"] = jacobian.T @ np.copysign(drag * power, twist)
    return efforts


def drag_names(model: VMSModel) -> tuple[str, ...]:
    """Return the names of :func:`drag_efforts`; none without a fluid."""
    return tuple(drag_efforts(model.evaluate(model.home, np.zeros(model.nv))))
