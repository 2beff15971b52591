"""From where the page shows a robot: up axis, size and camera, from its gravity and its shape."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array

_Z = np.array([0.0, 0.0, 1.0])

# The smallest size of a view, m; a robot may have no shape at all.
_SMALLEST = 0.1

# Distance of the camera from the middle, in sizes, and its elevation: tan of 27 degrees.
_DISTANCE = 1.6
_ELEVATION = 0.5


# Distance that a robot may move in a view that stays, in sizes.
_FREE = 0.4


@dataclass(frozen=True)
class Viewpoint:
    """A view of a robot in its initial configuration, in the inertial frame.

    Attributes:
        up: (3,) unit vector against gravity; z without gravity.
        position, look_at: (3,) of the camera, m.
        size: diagonal of the box around the robot, m.
        grid: plane of the grid, two of x, y and z.
        cell: edge of its cells, a power of two of a metre, m; 16 of them are wider than the robot.
        floor: (3,) middle of the grid, m.
    """

    up: Array
    position: Array
    look_at: Array
    size: float
    grid: str
    cell: float
    floor: Array


def viewpoint(model: VMSModel, box: Array) -> Viewpoint:
    """Return a view of a robot.

    Args:
        model: the robot; one that moves in a vertical plane is seen along the normal of that plane.
        box: (2,3) smallest and largest coordinates of the robot.
    """
    gravity = float(np.linalg.norm(model.gravity))
    up = -model.gravity / gravity if gravity > 0.0 else _Z
    middle = box.mean(axis=0)
    size = max(float(np.linalg.norm(box[1] - box[0])), _SMALLEST)
    normal = model.tree.mount[:3, 2]
    if model.base == "planar" and abs(normal @ up) < 0.1:
        away = normal
    else:
        # From the front right, at right angles to the vertical.
        front = np.eye(3)[int(np.argmin(np.abs(up)))]
        away = front - (front @ up) * up - np.cross(up, front)
        away = away / np.linalg.norm(away) + _ELEVATION * up
    away = away / np.linalg.norm(away)
    vertical = int(np.argmax(np.abs(up)))
    grid = "xyz".replace("xyz"[vertical], "")
    cell = float(2.0 ** np.ceil(np.log2(size / 8.0)))
    # The ground is at the height of the origin; beneath a robot that hovers, too.
    floor = middle - (middle @ up) * up
    return Viewpoint(up, middle + _DISTANCE * size * away, middle, size, grid, cell, floor)


class Chase:
    """Moves a view with a robot that leaves its middle, not with one that sways there.

    Attributes:
        look_at: (3,) what the camera looks at, m.
        up: (3,) its up axis.
    """

    def __init__(self, start: Array, view: Viewpoint) -> None:
        """``start`` is the position of the root link in the initial configuration, (3,) m."""
        self._at, self._free = np.array(start), _FREE * view.size
        self.look_at, self.up = np.array(view.look_at), view.up

    def step(self, place: Array) -> Array:
        """Return by how much the view moves, (3,) m, where the root link is at ``place``."""
        away = place - self._at
        distance = float(np.linalg.norm(away))
        if not np.isfinite(distance) or distance <= self._free:
            return np.zeros(3)
        step = (1.0 - self._free / distance) * away
        self._at, self.look_at = self._at + step, self.look_at + step
        return step
