"""RViz markers in the 3D scene of the web page."""

from typing import Any

import numpy as np
import viser
from visualization_msgs.msg import Marker, MarkerArray

from vms_ph_dynamics.errors import StateError

from ..messages.finite import require_finite


class MarkerScene:
    """Draws marker arrays in the inertial frame, with a checkbox that hides them."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._group = server.scene.add_frame("/world/markers", show_axes=False)
        self._arrows: Any = None
        self._shapes: dict[str, Any] = {}
        box = server.gui.add_checkbox("momentum, inertia, power", initial_value=True)

        @box.on_update
        def _(event: Any) -> None:
            self._group.visible = box.value

    def show(self, message: MarkerArray) -> None:
        """Draw these markers in place of the previous ones."""
        arrows = []
        for marker in filter(_is_sound, message.markers):
            if marker.type == Marker.ARROW:
                if marker.action == Marker.ADD:
                    arrows.append(marker)
            elif marker.type == Marker.SPHERE:
                self._sphere(marker)
            elif marker.type == Marker.CUBE:
                self._cube(marker)
            elif marker.type == Marker.TEXT_VIEW_FACING:
                self._text(marker)
        self._show_arrows(arrows)

    def _show_arrows(self, markers: list[Marker]) -> None:
        if self._arrows is not None:
            self._arrows.visible = bool(markers)
        if not markers:
            return
        points = np.array(
            [[[p.x, p.y, p.z] for p in marker.points] for marker in markers], dtype=np.float32
        )
        colours = np.array([_colour(marker) for marker in markers], dtype=np.uint8)
        if self._arrows is None:
            self._arrows = self._server.scene.add_arrows(
                "/world/markers/arrows",
                points,
                colours,
                # All arrows of a message are equally thick; RViz gives diameters.
                shaft_radius=markers[0].scale.x / 2,
                head_radius=markers[0].scale.y / 2,
                head_length=4 / 3 * markers[0].scale.y,
            )
        else:
            self._arrows.points, self._arrows.colors = points, colours

    def _sphere(self, marker: Marker) -> None:
        handle = self._shapes.get(marker.ns)
        if handle is None:
            handle = self._shapes[marker.ns] = self._server.scene.add_icosphere(
                f"/world/markers/{marker.ns}",
                radius=1.0,
                color=_colour(marker),
                opacity=float(marker.color.a),
                cast_shadow=False,
            )
        half = marker.scale
        handle.scale = (half.x / 2, half.y / 2, half.z / 2)
        _place(handle, marker)

    def _cube(self, marker: Marker) -> None:
        handle = self._shapes.get(marker.ns)
        if handle is None:
            handle = self._shapes[marker.ns] = self._server.scene.add_box(
                f"/world/markers/{marker.ns}", color=_colour(marker), cast_shadow=False
            )
        handle.scale = (marker.scale.x, marker.scale.y, marker.scale.z)
        _place(handle, marker)

    def _text(self, marker: Marker) -> None:
        handle = self._shapes.get(marker.ns)
        if handle is None:
            handle = self._shapes[marker.ns] = self._server.scene.add_label(
                f"/world/markers/{marker.ns}", marker.text, font_size_mode="scene",
                font_scene_height=float(marker.scale.z),
            )  # fmt: skip
        handle.text = marker.text
        _place(handle, marker)


def _is_sound(marker: Marker) -> bool:
    """Return whether a marker can be drawn: the numbers are finite, and an arrow has two ends."""
    try:
        require_finite(marker)
    except StateError:
        return False
    return bool(marker.type != Marker.ARROW or len(marker.points) == 2)


def _place(handle: Any, marker: Marker) -> None:
    p, r = marker.pose.position, marker.pose.orientation
    handle.position = (p.x, p.y, p.z)
    handle.wxyz = (r.w, r.x, r.y, r.z)


def _colour(marker: Marker) -> tuple[int, int, int]:
    c = marker.color
    red, green, blue = (round(255 * min(max(x, 0.0), 1.0)) for x in (c.r, c.g, c.b))
    return red, green, blue
