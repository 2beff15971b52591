# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Temperatures and destroyed exergy of the joints as coloured spheres."""

from collections.abc import Mapping

import numpy as np

from vms_ph_dynamics.evaluation import Evaluation

from ..messages.exergy_message import JointHeat
from .shapes import Ellipsoid, Rgba, Shape

# From the temperature of the environment to one that windings bear, K.
_COLD, _HOT = 298.15, 398.15

# Radii for a robot with a reach of 1 m, m: of a joint that destroys nothing, and of the largest.
_LEAST, _MOST = 0.02, 0.06


def heat_shapes(d: Evaluation, heat: Mapping[str, JointHeat], size: float) -> list[Shape]:
    """Return a sphere at every joint.

    Its colour is the temperature, from blue over yellow to red; its volume grows with the exergy
    that is destroyed in the joint, and the joint that destroys most has the largest.
    """
    most = max((each.power for each in heat.values()), default=0.0)
    shapes: list[Shape] = []
    for name, each in heat.items():
        share = max(each.power, 0.0) / most if most > 0.0 else 0.0
        radius = size * (_LEAST + (_MOST - _LEAST) * float(np.cbrt(share)))
        centre = d.placement(name)[:3, 3]
        colour = colour_of(each.temperature)
        shapes.append(Ellipsoid(f"heat, {name}", centre, np.eye(3), np.full(3, radius), colour))
    return shapes


def colour_of(theta: float) -> Rgba:
    """Return the colour of a temperature, K."""
    warm = min(max((theta - _COLD) / (_HOT - _COLD), 0.0), 1.0)
    if warm < 0.5:
        return (2.0 * warm * 0.98, 0.35 + 2.0 * warm * 0.5, 0.9 - 2.0 * warm * 0.75, 0.75)
    return (0.98 - (warm - 0.5) * 0.2, 0.85 - (warm - 0.5) * 1.5, 0.15, 0.75)
