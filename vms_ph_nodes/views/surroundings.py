# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bodies around a robot on the web page, and what it holds, as a simulator publishes them."""

from typing import Any

import viser
from visualization_msgs.msg import Marker, MarkerArray

from .marker_scene import colour_of, is_sound, set_pose
from .robot_scene import RobotScene

_OPACITY = 0.35


class Surroundings:
    """Draws the markers of a scene; those in the frame of a link go with it."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._bodies: dict[tuple[str, int], Any] = {}
        self._message: MarkerArray | None = None
        self._is_drawn = True

    def on_scene(self, message: MarkerArray) -> None:
        """Take the markers of a scene, which are drawn with the next frame."""
        self._message, self._is_drawn = message, False

    def draw(self, scene: RobotScene) -> None:
        """Send what has changed to the page."""
        if self._message is None or self._is_drawn:
            return
        self._is_drawn = True
        for marker in filter(is_sound, self._message.markers):
            body = self._bodies.get((marker.ns, marker.id))
            if body is None:
                frame = scene.path(marker.header.frame_id, "/world")
                body = self._add(f"{frame}/{marker.ns}_{marker.id}", marker)
                if body is None:
                    continue
                self._bodies[marker.ns, marker.id] = body
            set_pose(body, marker)

    def begin(self) -> None:
        """Draw them anew, around another robot."""
        for body in self._bodies.values():
            body.remove()
        self._bodies.clear()
        self._is_drawn = False

    def _add(self, name: str, marker: Marker) -> Any:
        scene, size = self._server.scene, marker.scale
        # The robot is seen behind what stands around it.
        opacity = None if marker.frame_locked else min(_OPACITY, float(marker.color.a))
        look: dict[str, Any] = {"color": colour_of(marker), "opacity": opacity}
        if marker.type == Marker.CUBE:
            return scene.add_box(name, dimensions=(size.x, size.y, size.z), **look)
        if marker.type == Marker.SPHERE:
            return scene.add_icosphere(name, radius=size.x / 2, **look)
        if marker.type == Marker.CYLINDER:
            return scene.add_cylinder(name, radius=size.x / 2, height=size.z, **look)
        return None
