# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Strip theory: added mass and drag of a slender cylinder in a fluid.

T. I. Fossen, Handbook of Marine Craft Hydrodynamics and Motion Control, Wiley 2011, section 6.3.
"""

import numpy as np

from ..arrays import Array, vector
from ..errors import ModelError, StateError
from ..groups import skew
from .fluid import WATER, ImmersedBody, check_density

DRAG = 1.2  # drag coefficient of a circular cylinder in cross flow

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def immersed_cylinder(
    link: str, radius: float, start: Array, end: Array, density: float = WATER
) -> ImmersedBody:
    """Return a circular cylinder that is part of a link.

    Across its axis the added mass is that of its own volume of fluid and the drag per length is
    ``1/2 rho c_d 2r |u| u``; along the axis both are zero. The quadratic drag couples all
    components of the twist; only its diagonal about the link's origin is used: ``rho c_d r`` times
    the integral of ``|u|^3`` over the length, with u the velocity across the axis for a unit
    component.

    Args:
        link: its name.
        radius: m.
        start: (3,) middle of one end in the link's frame, m.
        end: (3,) middle of the other end, m.
        density: of the fluid, kg/m^3.

    Raises:
        ModelError: the radius, length or density is not positive.
    """
    check_density(density)
    try:
        start, end = vector(start, 3, "start"), vector(end, 3, "end")
    except StateError as error:
        raise ModelError(f"cylinder of '{link}': {error}") from None
    length = float(np.linalg.norm(end - start))
    if not (radius > 0 and length > 0):
        raise ModelError(
            f"the cylinder of '{link}' must have a positive radius and length; given: radius "
            f"{radius} m, length {length} m"
        )
    centre, axis = (start + end) / 2, (end - start) / length
    across = np.eye(3) - np.outer(axis, axis)
    per_length = density * np.pi * radius**2
    about_centre = np.zeros((6, 6))
    about_centre[:3, :3] = per_length * length * across
    about_centre[3:, 3:] = per_length * length**3 / 12 * across
    to_centre = _velocity_at(centre)
    mass = np.eye(6)
    mass[:3] = to_centre
    drag = np.zeros(6)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        # Columns: the velocity across the axis for each unit component of the twist.
        u = across @ _velocity_at(centre + 0.5 * length * node * axis)
        drag += 0.5 * length * weight * np.linalg.norm(u, axis=0) ** 3
    return ImmersedBody(
        link,
        mass.T @ about_centre @ mass,
        np.pi * radius**2 * length,
        centre,
        np.zeros(6),
        density * DRAG * radius * drag,
    )


def _velocity_at(point: Array) -> Array:
    """Return the map from the twist at the origin to the velocity of a point, (3,6)."""
    return np.hstack([np.eye(3), -skew(point)])
