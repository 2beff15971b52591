# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The world as a page draws it: grid, up axis and camera, which go with the robot."""

from typing import Any

import numpy as np
import viser

from vms_ph_dynamics.arrays import Array

from .viewpoint import Chase, Viewpoint

# Of the lines of the floor, on a light and on a dark background.
_CELL, _SECTION = (165, 170, 178), (115, 120, 128)


class WorldView:
    """The frame ``/world`` of a page, which holds all that is drawn."""

    def __init__(self, server: viser.ViserServer) -> None:
        """Add it to the page."""
        self._server = server
        self._world = server.scene.add_frame("/world", show_axes=False)
        self._chase: Chase | None = None
        server.on_client_connect(self._face)

    @property
    def shift(self) -> Array:
        """By how much the world is moved in the view, (3,) m."""
        return np.zeros(3) if self._chase is None else self._chase.shift

    def look(self, view: Viewpoint, start: Array) -> None:
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
            cell_color=_CELL,
            section_color=_SECTION,
            infinite_grid=True,
            fade_distance=24 * view.cell,
        )
        server.initial_camera.position = view.position
        server.initial_camera.look_at = view.look_at
        self._chase = Chase(start, view)
        self._world.position = self._chase.shift
        for client in server.get_clients().values():
            self._face(client)

    def follow(self, place: Array) -> None:
        """Move the world with a robot that leaves the view; ``place`` (3,) of its root link, m."""
        if self._chase is not None and self._chase.step(place):
            self._world.position = self._chase.shift

    def _face(self, client: Any) -> None:
        """Turn the camera of a client to the robot; its own first one is that of any scene."""
        camera = self._server.initial_camera
        if self._chase is not None:
            with client.atomic():
                client.camera.up_direction = self._chase.up
                client.camera.position = camera.position
                client.camera.look_at = camera.look_at
