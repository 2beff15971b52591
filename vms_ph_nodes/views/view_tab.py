# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What of the scene is shown: links, markers, the pattern of the robot, light or dark."""

from collections.abc import Sequence
from html import escape
from typing import Any

import viser
from rclpy.node import Node

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_io.wings import hook

from .marker_scene import MarkerScene
from .robot_scene import RobotScene
from .strip_chart import StripChart

LINKS, PATTERN = "links", "EPHS pattern"


class ViewTab:
    """Switches of a page.

    Attributes:
        markers: in the scene.
    """

    def __init__(
        self, node: Node, server: viser.ViserServer, strips: Sequence[StripChart], tab: Any
    ) -> None:
        """Add them to the page.

        Args:
            node: which listens to the motion of the robot where the pattern is shown.
            server: of the page.
            strips: plots of the page, which become dark with it.
            tab: where on the page.
        """
        self._node, self._server = node, server
        self._scene: RobotScene | None = None
        self._pattern: Any = None
        gui = server.gui
        with tab:
            self._links = gui.add_checkbox(LINKS, initial_value=True)
            self.markers = MarkerScene(server)
            self._pattern_box = gui.add_checkbox(
                PATTERN, initial_value=False, hint="bodies and joints as boxes, with their powers"
            )
            self._answer = gui.add_html("")
            dark = gui.add_checkbox("dark", initial_value=False)

        @self._links.on_update
        def _(_: Any) -> None:
            if self._scene is not None:
                self._scene.show(self._links.value)

        @dark.on_update
        def _(_: Any) -> None:
            theme(server, dark.value)
            for strip in strips:
                strip.darken(dark.value)

    def show(self, scene: RobotScene) -> None:
        """Take another robot."""
        self._scene = scene
        scene.show(self._links.value)
        self._close()

    def listen(self, has_clients: bool) -> None:
        """Listen to the motion where the pattern is shown; called in the thread of the node."""
        is_shown = has_clients and self._pattern_box.value and self._scene is not None
        if is_shown and self._pattern is None:
            assert self._scene is not None
            self._open(self._scene.model)
        elif not is_shown and self._pattern is not None:
            self._close()

    def draw(self) -> None:
        """Draw the pattern anew."""
        if self._pattern is not None:
            self._pattern.draw()

    def _open(self, model: VMSModel) -> None:
        try:
            view = hook("ephs", "nodes.pattern_view", user="the pattern").PatternView
            self._pattern = view(self._node, self._server, model)
        except VmsPhError as error:
            self._pattern_box.value = False
            self._answer.content = (
                f'<div style="font:12px sans-serif;padding:0 12px">{escape(str(error))}</div>'
            )
            return
        self._answer.content = ""

    def _close(self) -> None:
        if self._pattern is not None:
            self._pattern.remove()
        self._pattern = None


def prepare(server: viser.ViserServer) -> None:
    """Begin a page: light, with its panel at the right."""
    theme(server, False)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(400.0)  # pixels


def theme(server: viser.ViserServer, dark: bool) -> None:
    """Make a page dark or light."""
    # The button to share a page would send its scene to a server of viser.
    server.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)
