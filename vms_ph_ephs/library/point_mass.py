# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A mass without extent, in the plane or in space."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..components import Quadratic, Reversible, Storage
from ..errors import StructureError
from ..patterns import power, state
from ..quantities import Euclidean, momentum_of, pose_of
from ..systems import System, compose
from .parameters import Parameter, check_all

PARAMETERS = (
    Parameter("mass", "kg", "of the point", above=0.0, required=True),
    Parameter("gravity", "m/s^2", "two or three numbers", number=False),
)


class PointWeight(Storage):
    """Potential energy ``V = w . r`` of a point at the position r.

    Args:
        weight: (d,) w, minus the force of gravity, N.
    """

    def __init__(self, weight: Any) -> None:
        self._weight = frozen(np.array(weight, dtype=np.float64).ravel())
        position = pose_of(Euclidean(self._weight.size))
        super().__init__({"q": power(position)}, self._value, self._slope)

    def described(self) -> Mapping[str, Any]:
        """Return the weight."""
        return {"kind": "point_weight", "weight": self._weight}

    def _value(self, q: Array) -> float:
        return float(self._weight @ q)

    def _slope(self, q: Array) -> Array:
        return self._weight


def point_mass(mass: float, gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> System:
    """Return a point mass with the port p and, for what reads its position, the state port q.

    Boxes: ``pe``, ``ke``, ``pkc``. The port p takes a force and gives the velocity, in the axes of
    the inertial frame.

    Args:
        mass: kg.
        gravity: (2,) or (3,), m/s^2; it also says whether the point moves in a plane.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("point_mass", PARAMETERS, {"mass": mass})
    g = np.asarray(gravity, dtype=np.float64)
    if g.shape not in ((2,), (3,)) or not np.isfinite(g).all():
        raise StructureError(
            f"the gravity of a point mass must be two or three finite numbers; given: {gravity}"
        )
    d = g.size
    position, momentum = pose_of(Euclidean(d)), momentum_of(Euclidean(d))
    zero, unit = np.zeros((d, d)), np.eye(d)
    ports = {"q": power(position), "p": power(momentum)}
    return compose(
        {
            "pe": PointWeight(-mass * g),
            "ke": Quadratic({"p": power(momentum)}, unit / mass),
            "pkc": Reversible(ports, skew=np.block([[zero, -unit], [unit, zero]])),
        },
        {"q": ("pe.q", "pkc.q", "q"), "p": ("ke.p", "pkc.p", "p")},
        {"q": state(position), "p": power(momentum)},
    )
