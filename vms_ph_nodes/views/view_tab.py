# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What of the scene is shown: links, markers, light or dark."""

from collections.abc import Sequence
from typing import Any

import viser

from .marker_scene import MarkerScene
from .robot_scene import RobotScene
from .strip_chart import StripChart
from .viewpoint import theme


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
