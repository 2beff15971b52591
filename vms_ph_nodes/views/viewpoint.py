# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The view of the page on a robot: up axis, size, camera and grid, from its gravity and shape."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import viser

from vms_ph_dynamics import Array, VMSModel

from .shapes import up_direction

# The smallest size of a view, m; a robot may have no shape at all.
_MIN_SIZE = 0.1

# Elevation of the camera: tan of 27 degrees.
_ELEVATION = 0.5

# Half of the vertical angle of viser's camera, rad, and the share of a view that a robot fills at
# most, upwards and sideways; the panel covers the right of the page, which is wider than high.
_HALF_ANGLE = np.radians(75.0 / 2.0)
_FILLED_SHARE = 0.6

# Distance that a robot may move in a view that stays, in sizes.
_FREE_DISTANCE = 0.25


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
    up = up_direction(model.gravity)
    centre = box.mean(axis=0)
    size = max(float(np.linalg.norm(box[1] - box[0])), _MIN_SIZE)
    mount_axis = model.tree.mount[:3, 2]
    if model.base == "planar" and abs(mount_axis @ up) < 0.1:
        direction = mount_axis
    else:
        # From the front right, at right angles to the vertical.
        front = np.eye(3)[int(np.argmin(np.abs(up)))]
        direction = front - (front @ up) * up - np.cross(up, front)
        direction = direction / np.linalg.norm(direction) + _ELEVATION * up
    direction = direction / np.linalg.norm(direction)
    grid = "xyz".replace("xyz"[int(np.argmax(np.abs(up)))], "")
    cell = float(2.0 ** np.ceil(np.log2(size / 8.0)))
    # The ground is at the height of the origin; beneath a robot that hovers, too.
    floor = centre - (centre @ up) * up
    position = centre + _camera_distance(box - centre, direction, up) * direction
    return Viewpoint(up, position, centre, size, grid, cell, floor)


def _camera_distance(box: Array, direction: Array, up: Array) -> float:
    """Return from how far, m, the corners of a box about the origin fill their share of a view.

    Args:
        box: (2,3) smallest and largest coordinates.
        direction: (3,) unit vector towards the camera.
        up: (3,) up axis of the camera.
    """
    corners = np.array(list(product(*box.T)))
    right = np.cross(up, direction)
    right = right / np.linalg.norm(right)
    extents = np.abs(corners @ np.column_stack([right, np.cross(direction, right)])).max(axis=1)
    distances = corners @ direction + extents / (_FILLED_SHARE * np.tan(_HALF_ANGLE))
    return max(float(distances.max()), _MIN_SIZE)


# Of the lines of the floor, on a light and on a dark background.
_CELL_COLOUR, _SECTION_COLOUR = (165, 170, 178), (115, 120, 128)


class WorldView:
    """The frame ``/world`` of a page, which holds all that is drawn.

    It moves to keep a robot in view that leaves the middle, and stands still while the robot sways
    there: a user may turn and move the camera meanwhile.

    Attributes:
        shift: (3,) by how much it is moved, m.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        """Begin a page with it: light, with its panel at the right."""
        set_theme(server, False)
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(400.0)  # pixels
        self._server = server
        self._world_frame = server.scene.add_frame("/world", show_axes=False)
        self._viewpoint: Viewpoint | None = None
        self.shift = np.zeros(3)
        server.on_client_connect(self._turn_camera)

    def show(self, view: Viewpoint, start: Array) -> None:
        """Turn the view of every browser to a robot.

        Args:
            view: of the robot.
            start: (3,) position of its root link, m.
        """
        server = self._server
        server.scene.set_up_direction(view.up)
        plane: Any = view.grid
        server.scene.add_grid(
            "/world/floor",
            plane=plane,
            cell_size=view.cell,
            section_size=4 * view.cell,
            position=view.floor,
            cell_color=_CELL_COLOUR,
            section_color=_SECTION_COLOUR,
            infinite_grid=True,
            fade_distance=24 * view.cell,
        )
        server.initial_camera.position = view.position
        server.initial_camera.look_at = view.look_at
        self._viewpoint, self._followed_position, self.shift = view, np.array(start), np.zeros(3)
        self._world_frame.position = self.shift
        for client in server.get_clients().values():
            self._turn_camera(client)

    def follow(self, position: Array) -> None:
        """Move the world with a robot that leaves the view, its root link at ``position`` (3,)."""
        if self._viewpoint is None:
            return
        offset = position - self._followed_position
        distance, margin = float(np.linalg.norm(offset)), _FREE_DISTANCE * self._viewpoint.size
        if margin < distance < np.inf:
            step = (1.0 - margin / distance) * offset
            self._followed_position, self.shift = self._followed_position + step, self.shift - step
            self._world_frame.position = self.shift

    def _turn_camera(self, client: Any) -> None:
        """Turn the camera of a client to the robot; its own first one is that of any scene."""
        camera = self._server.initial_camera
        if self._viewpoint is not None:
            with client.atomic():
                client.camera.up_direction = self._viewpoint.up
                client.camera.position = camera.position
                client.camera.look_at = camera.look_at


def set_theme(server: viser.ViserServer, dark: bool) -> None:
    """Make a page dark or light."""
    # The button to share a page would send its scene to a server of viser.
    server.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)
