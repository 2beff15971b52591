"""What the inertial parameters of the bodies contribute to momenta, their rates and energies."""

import numpy as np

from ..arrays import Array
from ..groups import SE3
from ..groups.so3 import skew
from .body_motion import BodyMotion, BodyTree

_SE3 = SE3()

PARAMETERS = 10
"""Inertial parameters of a body, in Pinocchio's order: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""


def momentum_regressor(bodies: BodyTree, twists: Array) -> Array:
    """Return the momentum of every body by its ten parameters, (N,6,10), in inertial axes.

    Args:
        bodies: the tree.
        twists: (N,6) of the bodies; a constant acceleration gives its inertial wrench.
    """
    found = []
    for placement, twist in zip(bodies.placements, twists, strict=True):
        local = placement.actionInverse @ twist
        found.append(placement.dualAction @ _of_body(local[:3], local[3:]))
    return np.stack(found)


def by_parameters(left: Array, bodies: BodyTree, regressor: Array) -> Array:
    """Return ``left_k^T sum(momenta that k moves)`` by all parameters, (nv,10 N)."""
    each = np.einsum("ka,iap->kip", left, regressor) * bodies.moves[:, :, None]
    return each.reshape(len(left), -1)


def momentum_rate_by_parameters(motion: BodyMotion, other: BodyMotion) -> Array:
    """Return ``Mdot w`` along v by all parameters, (nv,10 N).

    Args:
        motion: of v.
        other: of w.
    """
    b = motion.bodies
    momenta = momentum_regressor(b, other.twists)
    ads = np.stack([_SE3.ad(twist) for twist in motion.twists])
    turned = np.einsum("iab,ib->ia", ads, other.twists)
    rates = momentum_regressor(b, other.twist_rates(motion) - turned)
    rates -= np.einsum("iba,ibp->iap", ads, momenta)
    return by_parameters(motion.screw_rates, b, momenta) + by_parameters(b.screws, b, rates)


def potential_by_parameters(bodies: BodyTree, displacement: Array) -> Array:
    """Return the potential of gravity by all parameters, (10 N,).

    Args:
        bodies: the tree, with the base at the origin.
        displacement: (3,) of the base from there.
    """
    slopes = np.zeros((len(bodies.placements), PARAMETERS))
    for row, placement in zip(slopes, bodies.placements, strict=True):
        row[0] = -bodies.tree.gravity @ (placement.translation + displacement)
        row[1:4] = -bodies.tree.gravity @ placement.rotation
    return slopes.ravel()


def _of_body(v: Array, w: Array) -> Array:
    matrix = np.zeros((6, PARAMETERS))
    matrix[:3, 0] = v
    matrix[:3, 1:4], matrix[3:, 1:4] = skew(w), -skew(v)
    x, y, z = w
    matrix[3:, 4:] = [[x, y, 0, z, 0, 0], [0, x, y, 0, z, 0], [0, 0, 0, x, y, z]]
    return matrix
