# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What of the scene is shown: links, markers, light or dark."""

from collections.abc import Sequence
from typing import Any

import viser

from .marker_scene import MarkerScene
from .robot_scene import RobotScene
from .strip_chart import StripChart


class ViewTab:
    """Switches of a page.

    Attributes:
        markers: in the scene.
    """

    def __init__(self, server: viser.ViserServer, strips: Sequence[StripChart], tab: Any) -> None:
        """Add them to the page.

        Args:
            server: of the page.
            strips: plots of the page, which become dark with it.
            tab: where on the page.
        """
        self._scene: RobotScene | None = None
        with tab:
            self._links = server.gui.add_checkbox("links", initial_value=True)
            self.markers = MarkerScene(server)
            dark = server.gui.add_checkbox("dark", initial_value=False)

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


def prepare(server: viser.ViserServer) -> None:
    """Begin a page: light, with its panel at the right."""
    theme(server, False)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(400.0)  # pixels


def theme(server: viser.ViserServer, dark: bool) -> None:
    """Make a page dark or light."""
    # The button to share a page would send its scene to a server of viser.
    server.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)
