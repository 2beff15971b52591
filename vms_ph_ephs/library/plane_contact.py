# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The unilateral contact of a point with a plane."""

from collections.abc import Mapping, Sequence
from typing import Any

from vms_ph_dynamics.arrays import Array

from ..components import Contact
from ..multibody.foot import plane_axes
from ..quantities import Euclidean, pose_of
from .parameters import Parameter, check_all

PARAMETERS = (
    Parameter("friction", "", "coefficient", least=0.0),
    Parameter("restitution", "", "share of an approach velocity that returns", least=0.0),
    Parameter("height", "m", "of the plane along its normal"),
    Parameter("normal", "", "two or three numbers", number=False),
)


class PlaneContact(Contact):
    """A point that cannot pass a plane, with dry friction; ports q (read), p and s.

    Args:
        friction: coefficient.
        restitution: from 0 to 1.
        height: of the plane along its normal, m.
        normal: (2,) or (3,) in the inertial frame; its length does not count.

    Raises:
        StructureError: a parameter is not accepted.
    """

    def __init__(
        self,
        friction: float = 0.6,
        restitution: float = 0.0,
        height: float = 0.0,
        normal: Sequence[float] = (0.0, 0.0, 1.0),
    ) -> None:
        numbers = {"friction": friction, "restitution": restitution, "height": height}
        check_all("plane_contact", PARAMETERS, numbers)
        self._axes, self._height = plane_axes(normal), float(height)
        super().__init__(
            pose_of(Euclidean(self._axes.shape[1])),
            self._distance,
            lambda q: self._axes,
            restitution=restitution,
            friction=friction,
        )

    def described(self) -> Mapping[str, Any]:
        """Return the parameters."""
        return {
            "kind": "plane_contact",
            "friction": self.friction,
            "restitution": self.restitution,
            "height": self._height,
            "normal": self._axes[0],
        }

    def _distance(self, q: Array) -> float:
        return float(self._axes[0] @ q) - self._height


def plane_contact(**values: Any) -> PlaneContact:
    """Return a :class:`PlaneContact`."""
    return PlaneContact(**values)
