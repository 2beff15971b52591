# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integrability of the locked velocity to an orientation [B, 3.2.4]."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, frozen
from ..errors import StateError
from ..evaluation import Evaluation, check_moving_rigid
from ..forms.decoupled_evaluation import DecoupledEvaluation
from ..groups import SO2, SO3, base_group
from ..model import VMSModel
from .frames import centre_of_mass

# A curvature below this, in 1/rad^2, is rounding: the entries of dA are accurate to about 1e-13.
FLAT = 1e-9

_MOST_STEPS = 4096
# The orientation is refined until halving the steps moves it by less than this, rad.
_CONVERGED = 1e-12


@dataclass(frozen=True)
class Curvature:
    """The residual of the condition of integrability, a 2-form on the joints [B (3.72), (3.73)].

    Attributes:
        in_base: ``dT^i/dq_j - dT^j/dq_i + [T^i, T^j]`` for the columns T^i of the mechanical
            connection, (n,n,b), linear first in base axes.
        at_centre: the same twists taken at the centre of mass, still in base axes. Their linear
            part is zero: the displacement of the centre of mass is never path dependent.
    """

    in_base: Array
    at_centre: Array

    @property
    def angular(self) -> Array:
        """The angular part, (n,n,1) or (n,n,3): rotation per area of a small loop of two joints."""
        return self.in_base[:, :, -1:] if self.in_base.shape[2] == 3 else self.in_base[:, :, 3:]

    def is_flat(self, tolerance: float = FLAT) -> bool:
        """Return whether the 2-form vanishes; the orientation is then locally a function of q."""
        return float(np.abs(self.in_base).max(initial=0.0)) <= tolerance


def curvature(d: Evaluation) -> Curvature:
    """Return the residual 2-form of [B (3.72)] at a configuration.

    A small loop of the joints i and j, traversed from i to j, moves the base at zero momentum by
    ``K[i, j]`` times its area, and the aligned frame as seen from the base by the opposite.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
    """
    check_moving_rigid(d)
    group, t = base_group(d.model.base), d.A
    # slope[k, :, i] = dT^i/dq_k.
    slope = DecoupledEvaluation(d).dA
    two_form = np.einsum("jbi->ijb", slope) - np.einsum("ibj->ijb", slope)
    two_form += np.stack([(group.ad(column) @ t).T for column in t.T])
    to_centre = group.identity()
    centre = centre_of_mass(d)
    to_centre[: len(centre), -1] = -centre
    return Curvature(frozen(two_form), frozen(two_form @ group.Ad(to_centre).T))


def aligned_orientation(model: VMSModel, q_start: Array, q_end: Array) -> Array:
    """Return R_bc at ``q_end`` of the frame aligned with the locked velocity [B (3.74)-(3.76)].

    The frame is aligned with the base at ``q_start``. The rotation is integrated along the straight
    line in joint space, and is a function of its ends alone if the 2-form of :func:`curvature`
    vanishes between them, as it always does with one joint.

    Args:
        model: a robot on a planar or floating base.
        q_start: (nq,), of which only the joints are used.
        q_end: (nq,), of which only the joints are used.

    Returns:
        (2,2) or (3,3).

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
        StateError: the locked velocity is not integrable between the two.
    """
    start = model.checked_configuration(q_start)
    along = model.difference(start, model.checked_configuration(q_end))
    along[: model.b] = 0.0
    before = _integrated(model, start, along, 1)
    steps = 2
    while steps <= _MOST_STEPS:
        after = _integrated(model, start, along, steps)
        if np.abs(after - before).max() < _CONVERGED:
            return frozen(after)
        before, steps = after, 2 * steps
    raise StateError(
        f"the orientation between the two configurations did not converge in {_MOST_STEPS} steps; "
        "give configurations that are closer to each other"
    )


def _integrated(model: VMSModel, start: Array, along: Array, steps: int) -> Array:
    """The Magnus scheme of fourth order for ``dR/ds = hat(T_w qdot) R``."""
    planar = model.base == "planar"
    group = SO2() if planar else SO3()
    rotation, h, gap = group.identity(), 1.0 / steps, np.sqrt(3.0) / 6.0
    for k in range(steps):
        first, second = (
            _angular_rate(model, model.integrate(start, (k + 0.5 + side * gap) * h * along), along)
            for side in (-1.0, 1.0)
        )
        turn = 0.5 * h * (first + second)
        if not planar:
            turn -= np.sqrt(3.0) / 12.0 * h * h * np.cross(first, second)
        rotation = group.exp(turn) @ rotation
    return rotation


def _angular_rate(model: VMSModel, q: Array, along: Array) -> Array:
    d = model.evaluate(q, along)
    if model.n > 1:
        residual = curvature(d)
        if not residual.is_flat():
            raise StateError(
                "the locked velocity is not integrable here: its orientation depends on the path; "
                f"the largest entry of the 2-form is {np.abs(residual.in_base).max():.3g} 1/rad^2, "
                f"at most {FLAT:g} is accepted; integrate along the path that was taken"
            )
    else:
        check_moving_rigid(d)
    locked = d.A @ along[model.b :]
    return locked[-1:] if model.b == 3 else locked[3:]
