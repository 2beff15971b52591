"""The momentum of the whole robot in the axes of the inertial frame."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen
from ..evaluation import Evaluation


@dataclass(frozen=True)
class Momenta:
    """Momentum in inertial axes, linear first, in kg m/s and kg m^2/s.

    In a fluid all of them include the momentum of the added mass.

    Attributes:
        centre_of_mass: (3,) of the robot in the inertial frame, m.
        centroidal: (6,) the angular part about the centre of mass.
        spatial: (6,) the angular part about the origin of the inertial frame; constant without
            external forces.
    """

    centre_of_mass: Array
    centroidal: Array
    spatial: Array


class SpatialVector(NamedTuple):
    """The linear and the angular part of a twist or a momentum, (3,) each."""

    linear: Array
    angular: Array


def momenta(d: Evaluation) -> Momenta:
    """Return the momentum of the whole robot, on any base.

    On a moving base ``spatial = Ad_{h^-1}^T p`` [A (45)]; on a fixed or planar base it also
    includes the components that the support of the base constrains.
    """
    model, data = d.model, d.tree.data()
    about_centre = pin.computeCentroidalMomentum(d.tree.pinocchio, data, d.q_origin, d.v_full)
    momentum, centre = np.array(about_centre.vector), np.array(data.com[0])
    if model.fluid is not None:
        momentum = momentum + model.fluid.momentum(d, centre)
    centre += d.tree.base_displacement(d.q)
    about_origin = momentum[3:] + np.cross(centre, momentum[:3])
    spatial = np.concatenate([momentum[:3], about_origin])
    return Momenta(frozen(centre), frozen(momentum), frozen(spatial))


def in_space(b: int, value: Array) -> SpatialVector:
    """Return a twist or momentum of the base, (0,), (3,) or (6,), as two vectors in space."""
    if b == 6:
        return SpatialVector(value[:3], value[3:])
    if b == 3:
        linear, angular = np.array([value[0], value[1], 0.0]), np.array([0.0, 0.0, value[2]])
        return SpatialVector(linear, angular)
    return SpatialVector(np.zeros(3), np.zeros(3))
