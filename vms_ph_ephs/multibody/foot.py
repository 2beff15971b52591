# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Feet: points of bodies that stand, slide or land on a plane."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array, frozen

from ..components import Component, Contact, Environment
from ..errors import PatternError, StructureError
from ..quantities import SE3_SPACE, pose_of
from ..systems import System, compose


def plane_axes(normal: Any) -> Array:
    """Return the unit normal of a plane and the directions across it as rows, (d,d).

    Raises:
        StructureError: the normal is not one of two or three numbers, or zero.
    """
    along = np.asarray(normal, dtype=np.float64)
    length = float(np.linalg.norm(along)) if along.shape in ((2,), (3,)) else 0.0
    if not 0.0 < length < np.inf:
        raise StructureError(
            f"the normal of a plane must be two or three numbers, not all zero; given: {normal}"
        )
    across = np.linalg.svd(along[None] / length)[2][1:]
    return frozen(np.vstack([along / length, across]))


@dataclass(frozen=True)
class Foot:
    """A point of a body and the plane that it may touch.

    Attributes:
        point: (3,) in the frame of the body or link that the foot is given for, m.
        friction: coefficient, not negative.
        restitution: share of the approach velocity that an impact returns, from 0 to 1.
        height: of the plane along its normal, m.
        normal: (3,) of the plane in the inertial frame; its length does not count.
    """

    point: Sequence[float] = (0.0, 0.0, 0.0)
    friction: float = 0.6
    restitution: float = 0.0
    height: float = 0.0
    normal: Sequence[float] = (0.0, 0.0, 1.0)

    def at(self, pose: Array) -> "Foot":
        """Return the foot with its point in the frame in which the present one has a pose."""
        return replace(self, point=tuple(pose[:3, :3] @ np.array(self.point) + pose[:3, 3]))


class FootContact(Contact):
    """The unilateral contact of a point of a body with a plane, with dry friction.

    Args:
        foot: with its point in the frame of the body.

    Raises:
        StructureError: a number of the foot is not accepted.
    """

    def __init__(self, foot: Foot) -> None:
        point, axes = np.array(foot.point, dtype=np.float64), plane_axes(foot.normal)
        fits = point.shape == (3,) and np.isfinite(point).all() and np.isfinite(foot.height)
        if not fits or axes.shape != (3, 3):
            raise StructureError(
                "a foot needs a point and a normal of three numbers and a finite height; given: "
                f"point {foot.point}, height {foot.height}, normal {foot.normal}"
            )
        self.foot = foot
        self._point, self._height = frozen(point), float(foot.height)
        self._axes = axes
        x, y, z = point.tolist()
        turning = -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        self._of_twist = frozen(np.hstack([np.eye(3), turning]))
        super().__init__(
            pose_of(SE3_SPACE),
            self._distance,
            self._moving,
            restitution=foot.restitution,
            friction=foot.friction,
        )

    def described(self) -> Mapping[str, Any]:
        """Return the numbers of the foot."""
        return {
            "kind": "foot",
            "point": self._point,
            "friction": self.friction,
            "restitution": self.restitution,
            "height": self._height,
            "normal": self._axes[0],
        }

    def _distance(self, q: Array) -> float:
        return float(self._axes[0] @ (q[:3, :3] @ self._point + q[:3, 3])) - self._height

    def _moving(self, q: Array) -> Array:
        return np.asarray(self._axes @ q[:3, :3] @ self._of_twist)


def with_feet(body: System, feet: Mapping[str, Foot], theta_0: float = 298.15) -> System:
    """Return a body with feet; its port p is as before, and its environment takes their heat.

    Args:
        body: made by :func:`.rigid_body` or :func:`.immersed_body`.
        feet: by name, with points in the frame of the body; each becomes a box.
        theta_0: temperature of the environment, K.

    Raises:
        PatternError: the name of a foot is taken by a box of the body.
        StructureError: a number of a foot is not accepted.
    """
    boxes: dict[str, System | Component] = dict(body.fillings)
    junctions = {name: tuple(ends) for name, ends in body.pattern.junctions.items()}
    if feet and "env" not in boxes:
        boxes["env"] = Environment(theta_0)
        junctions["s"] = ("env.s",)
    for name, foot in feet.items():
        if name in boxes:
            raise PatternError(
                f"a foot cannot be named '{name}', which is a box of its body; the boxes are "
                f"{', '.join(boxes)}"
            )
        boxes[name] = FootContact(foot)
        for port in ("q", "p", "s"):
            junctions[port] += (f"{name}.{port}",)
    return compose(boxes, junctions, body.interface)
