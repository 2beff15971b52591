# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the inertial parameters of the bodies contribute to momenta, their rates and energies."""

import numpy as np

from ..arrays import Array
from .body_motion import BodyMotion, BodyTree, adjoints

PARAMETERS = 10
"""Inertial parameters of a body, in Pinocchio's order: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""

# Of I w by Ixx, Ixy, Iyy, Ixz, Iyz, Izz: row, column, component of w.
_INERTIA = (
    *((0, 0, 0), (0, 1, 1), (0, 3, 2)),
    *((1, 1, 0), (1, 2, 1), (1, 4, 2)),
    *((2, 3, 0), (2, 4, 1), (2, 5, 2)),
)


def momentum_regressor(bodies: BodyTree, twists: Array) -> Array:
    """Return the momentum of every body by its ten parameters, (N,6,10), in inertial axes.

    Args:
        bodies: the tree.
        twists: (N,6) of the bodies; a constant acceleration gives its inertial wrench.
    """
    local = np.einsum("iab,ib->ia", bodies.into_bodies, twists)
    own = np.zeros((len(local), 6, PARAMETERS))
    cross = adjoints(local)
    # f = m v + w x h and n = I w - v x h, with h = m c.
    own[:, :3, 0] = local[:, :3]
    own[:, :3, 1:4], own[:, 3:, 1:4] = cross[:, :3, :3], -cross[:, :3, 3:]
    for row, column, entry in _INERTIA:
        own[:, 3 + row, 4 + column] = local[:, 3 + entry]
    return np.einsum("iba,ibp->iap", bodies.into_bodies, own)


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
    ads = motion.body_ad
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
