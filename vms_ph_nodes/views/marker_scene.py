# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is shown in the 3D scene of the web page: RViz markers, of the motion and of bodies."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import viser
from visualization_msgs.msg import Marker, MarkerArray

from vms_ph_dynamics.energy.legend import LEGEND
from vms_ph_dynamics.forms import PORTS

from ..messages.conversions import in_range, nonfinite_path
from .robot_scene import RobotScene
from .shapes import ANGULAR, BODY, LINEAR, LOCKED, POINT, TASK, Rgba, rgba
from .strip_chart import StripChart
from .viewpoint import set_theme


@dataclass(frozen=True)
class Group:
    """Markers that are shown or hidden together.

    Attributes:
        name: of the group.
        colours: of its markers.
        text: sentence on what the markers mean.
        names: beginnings of the names of its markers; that of the group where there are none.
    """

    name: str
    colours: tuple[Rgba, ...]
    text: str
    names: tuple[str, ...] = ()


_PORT_COLOURS = tuple(rgba(LEGEND[port].colour) for port in PORTS)

GROUPS = (
    Group("centre of mass", (POINT,), "of the whole robot"),
    Group(
        "momentum",
        (LINEAR, ANGULAR),
        "of the whole robot at the centre of mass: linear, angular",
        ("linear momentum", "angular momentum"),
    ),
    Group(
        "locked velocity",
        (LOCKED,),
        "of the base if all joints locked at once, with the same momentum",
        ("locked velocity", "locked angular velocity"),
    ),
    Group(
        "power",
        _PORT_COLOURS,
        "at joints, base and end effector: arrows into the robot or out of it",
    ),
    Group("locked inertia", (BODY,), "homogeneous ellipsoid of mass and inertia of the robot now"),
    Group("task inertia", (TASK,), "mass that a push at the end effector feels, by direction"),
    Group(
        "energy bars",
        (rgba(LEGEND["kinetic"].colour),),
        "kinetic energy: total, base, shape",
        ("kinetic energy",),
    ),
)


HIDDEN_GROUPS = ("locked inertia", "task inertia", "energy bars")
"""Groups that are not shown at first."""


class MarkerScene:
    """Draws marker arrays in the inertial frame, with a legend that hides them one by one.

    Attributes:
        checkboxes: checkboxes of the groups.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        server.scene.add_frame("/world/markers", show_axes=False)
        self._arrows: Any = None
        self._bodies = Bodies(server.scene)
        self._hidden_groups = {*HIDDEN_GROUPS}
        self.checkboxes: list[Any] = []
        self._legends: dict[str, Any] = {}
        for group in GROUPS:
            # A group has its line once it has been drawn.
            is_on = group.name not in HIDDEN_GROUPS
            checkbox = server.gui.add_checkbox(group.name, initial_value=is_on, visible=False)
            self._legends[group.name] = server.gui.add_html(_legend_html(group), visible=False)
            self.checkboxes.append(checkbox)
            checkbox.on_update(partial(self._switch_group, group, checkbox))

    def _switch_group(self, group: Group, checkbox: Any, _: Any) -> None:
        change = self._hidden_groups.discard if checkbox.value else self._hidden_groups.add
        change(group.name)
        for (name, _), handle in self._bodies.handles():
            handle.visible = self._is_shown(name)

    def _is_shown(self, name: str) -> bool:
        """Return whether markers with this namespace are shown; those of no group always are."""
        return _group_name(name) not in self._hidden_groups

    def show(self, message: MarkerArray) -> None:
        """Draw these markers in place of the previous ones."""
        arrows = []
        group_names = {_group_name(marker.ns) for marker in message.markers}
        for checkbox, group in zip(self.checkboxes, GROUPS, strict=True):
            if group.name in group_names:
                checkbox.visible = self._legends[group.name].visible = True
        for marker in filter(is_drawable, message.markers):
            is_visible = self._is_shown(marker.ns)
            self._bodies.draw(marker, "/world/markers", visible=is_visible)
            if is_visible and marker.type == Marker.ARROW and marker.action == Marker.ADD:
                arrows.append(marker)
        self._show_arrows(arrows)

    def _show_arrows(self, markers: list[Marker]) -> None:
        if self._arrows is not None:
            self._arrows.visible = bool(markers)
        if not markers:
            return
        points = np.array(
            [[[p.x, p.y, p.z] for p in marker.points] for marker in markers], dtype=np.float32
        )
        colours = np.array([colour_of(marker) for marker in markers], dtype=np.uint8)
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


def _group_name(name: str) -> str:
    """Return the name of the group of a namespace, or an empty string."""
    return next((group.name for group in GROUPS if name.startswith(group.names or group.name)), "")


def _legend_html(group: Group) -> str:
    squares = "".join(
        f'<span style="display:inline-block;width:10px;height:10px;margin-right:4px;'
        f'background:rgb({",".join(str(round(255 * c)) for c in colour[:3])})"></span>'
        for colour in group.colours
    )
    style = "font:12px/1.3 sans-serif;padding:0 12px 4px;opacity:.85"
    return f'<div style="{style}">{squares}{group.text}</div>'


def is_drawable(marker: Marker) -> bool:
    """Return whether a marker can be drawn: its numbers have a size, and an arrow has two ends."""
    sizes = [(v.x, v.y, v.z) for v in [marker.pose.position, marker.scale, *marker.points]]
    return bool(
        not nonfinite_path(marker)
        and in_range(np.array(sizes))
        and (len(marker.points) == 2 or (marker.type, marker.action) != (Marker.ARROW, Marker.ADD))
    )


# Methods of viser that draw solids, which have here the extents of a unit cube.
_SOLIDS: dict[int, tuple[str, dict[str, Any]]] = {
    Marker.CUBE: ("add_box", {"dimensions": (1.0, 1.0, 1.0)}),
    Marker.SPHERE: ("add_icosphere", {"radius": 0.5}),
    Marker.CYLINDER: ("add_cylinder", {"radius": 0.5, "height": 1.0}),
}

# Largest number of bodies of a topic, and of letters of a label.
_MAX_BODIES, _MAX_LETTERS = 1000, 200


class Bodies:
    """What markers show, by namespace and number: boxes, spheres, cylinders and labels."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene = scene
        self._bodies: dict[tuple[str, int], tuple[int, Any]] = {}
        self._added_count = 0

    def handles(self) -> list[tuple[tuple[str, int], Any]]:
        """Return what is drawn, each with namespace and number."""
        return [(key, handle) for key, (_, handle) in self._bodies.items()]

    def draw(self, marker: Marker, parent: str, **properties: Any) -> None:
        """Draw a marker in place of that of the same namespace and number, or remove it.

        Args:
            marker: what is shown; one of another type is left out.
            parent: name in the scene of what it goes with.
            properties: further properties.
        """
        key, marker_type = (marker.ns, marker.id), marker.type
        if marker.action == Marker.DELETEALL:
            self.clear()
        drawn_type, handle = self._bodies.get(key, (None, None))
        if handle is not None and (marker_type != drawn_type or marker.action != Marker.ADD):
            handle.remove()
            del self._bodies[key]
            handle = None
        if marker.action != Marker.ADD or marker_type not in (*_SOLIDS, Marker.TEXT_VIEW_FACING):
            return
        if handle is None:
            if len(self._bodies) >= _MAX_BODIES:
                return
            # Its name in the scene is a number: one that is received may be part of another.
            self._added_count += 1
            handle = self._add_to_scene(f"{parent}/body_{self._added_count}", marker, properties)
            self._bodies[key] = marker_type, handle
        if marker_type == Marker.TEXT_VIEW_FACING:
            handle.text = marker.text[:_MAX_LETTERS]
        else:
            handle.scale = (marker.scale.x, marker.scale.y, marker.scale.z)
        p, r = marker.pose.position, marker.pose.orientation
        handle.position, handle.wxyz = (p.x, p.y, p.z), (r.w, r.x, r.y, r.z)

    def _add_to_scene(self, path: str, marker: Marker, properties: dict[str, Any]) -> Any:
        if marker.type == Marker.TEXT_VIEW_FACING:
            properties = {key: properties[key] for key in ("visible",) if key in properties}
            height = float(marker.scale.z)
            return self._scene.add_label(
                path, "", font_size_mode="scene", font_scene_height=height, **properties
            )
        method, extents = _SOLIDS[marker.type]
        properties = {"opacity": float(marker.color.a), "cast_shadow": False} | extents | properties
        return getattr(self._scene, method)(path, color=colour_of(marker), **properties)

    def clear(self) -> None:
        """Remove them all."""
        for _, handle in self.handles():
            handle.remove()
        self._bodies.clear()


def colour_of(marker: Marker) -> tuple[int, int, int]:
    """Return the colour of a marker: red, green, blue up to 255."""
    c = marker.color
    red, green, blue = (round(255 * min(max(component, 0.0), 1.0)) for component in (c.r, c.g, c.b))
    return red, green, blue


_MAX_OPACITY = 0.35


class Surroundings:
    """Draws the markers of a scene; those in the frame of a link go with it."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._bodies = Bodies(server.scene)
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
        for marker in filter(is_drawable, self._message.markers):
            # The robot is seen behind what stands around it.
            opacity = None if marker.frame_locked else min(_MAX_OPACITY, float(marker.color.a))
            parent = scene.path(marker.header.frame_id, "/world")
            self._bodies.draw(marker, parent, opacity=opacity, cast_shadow=True)

    def redraw(self) -> None:
        """Draw them anew, around another robot."""
        self._bodies.clear()
        self._is_drawn = False


class ViewTab:
    """Switches of a page.

    Attributes:
        markers: in the scene.
    """

    def __init__(self, server: viser.ViserServer, charts: Sequence[StripChart], tab: Any) -> None:
        """Add them to the page.

        Args:
            server: of the page.
            charts: plots of the page, which become dark with it.
            tab: tab of the page on which they are drawn.
        """
        self._scene: RobotScene | None = None
        with tab:
            self._links_checkbox = server.gui.add_checkbox("links", initial_value=True)
            self.markers = MarkerScene(server)
            dark_checkbox = server.gui.add_checkbox("dark", initial_value=False)

        @self._links_checkbox.on_update
        def _(_: Any) -> None:
            if self._scene is not None:
                self._scene.show(self._links_checkbox.value)

        @dark_checkbox.on_update
        def _(_: Any) -> None:
            set_theme(server, dark_checkbox.value)
            for chart in charts:
                chart.darken(dark_checkbox.value)

    def show(self, scene: RobotScene) -> None:
        """Take another robot."""
        self._scene = scene
        scene.show(self._links_checkbox.value)
