# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The choice of robot, law and scene on a page that ``vms-ph page`` serves."""

from collections.abc import Callable
from typing import Any

import viser

from vms_ph_controllers.hosting.loading import suitable_controllers
from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_io import robots
from vms_ph_io.settings import scenes

from ..check_settings import check
from .commands import LAW_TOPIC, ROBOT_TOPIC, SCENE_TOPIC, Commands
from .controls import shell

AS_CONFIGURED = "as in the parameter file"
NO_SCENE = "none"


class Choices:
    """Lists of robots, laws and scenes, and fields for those of a user."""

    def __init__(
        self,
        server: viser.ViserServer,
        tab: Any,
        commands: Commands,
        model: VMSModel,
        present: tuple[str, str, str],
        allocation: Allocation | None,
    ) -> None:
        """Add them to the page.

        Args:
            server: of the page.
            tab: where on the page.
            commands: of the node.
            model: the present robot.
            present: name or file of the robot; of its law, empty: as in the parameter file; of the
                scene around it, empty: none.
            allocation: of the base.
        """
        self._robot, law, scene = present
        gui = server.gui
        names = robots.names()
        user_files = () if self._robot in names else (self._robot,)
        laws = (AS_CONFIGURED, *suitable_controllers(model, allocation))
        if law and law not in laws:
            laws = (*laws, law)
        around = (NO_SCENE, *scenes.names())
        if scene and scene not in around:
            around = (*around, scene)
        with tab, gui.add_folder("Robot, law and scene", order=-1.0) as self.folder:
            robot = gui.add_dropdown("robot", (*user_files, *names), initial_value=self._robot)
            chosen = gui.add_dropdown("law", laws, initial_value=law or AS_CONFIGURED)
            placed = gui.add_dropdown(
                "scene", around, initial_value=scene or NO_SCENE, hint="it needs MuJoCo"
            )
            file = gui.add_text("own robot", "", hint="path of a URDF, xacro or MJCF file")
            user_law = gui.add_text(
                "own law", "", hint="package.module:Class or path/to/law.py:Class"
            )
            user_scene = gui.add_text("own scene", "", hint="path of a YAML file")
            open_file = gui.add_button("take what is written")
            self._answer = gui.add_markdown(
                "The page begins anew with another robot, law or scene."
            )

        robot.on_update(lambda _: self._take_robot(robot.value, commands.choose_robot))
        chosen.on_update(
            lambda _: self._take_law(
                "" if chosen.value == AS_CONFIGURED else chosen.value, commands.choose_law
            )
        )

        placed.on_update(
            lambda _: self._take_scene(
                "" if placed.value == NO_SCENE else placed.value, commands.choose_scene
            )
        )

        @open_file.on_click
        def _(_: Any) -> None:
            if file.value:
                self._take_robot(file.value, commands.choose_robot)
            elif user_law.value:
                self._take_law(user_law.value, commands.choose_law)
            elif user_scene.value:
                self._take_scene(user_scene.value, commands.choose_scene)

    def remove(self) -> None:
        """Take them from the page."""
        self.folder.remove()

    def _take_robot(self, name: str, choose: Callable[[str], None]) -> None:
        self._take(ROBOT_TOPIC, name, {"robot": name}, choose)

    def _take_law(self, name: str, choose: Callable[[str], None]) -> None:
        self._take(LAW_TOPIC, name, {"robot": self._robot, "controller": name}, choose)

    def _take_scene(self, name: str, choose: Callable[[str], None]) -> None:
        self._take(SCENE_TOPIC, name, {"robot": self._robot, "scene": name}, choose)

    def _take(
        self, topic: str, name: str, settings: dict[str, str], choose: Callable[[str], None]
    ) -> None:
        command = shell(f"ros2 topic pub --once {topic} std_msgs/msg/String '{{data: {name!r}}}'")
        self._answer.content = command
        try:
            check(settings)
        except VmsPhError as error:
            self._answer.content = f"{command}\n\n**not done**: {error}"
            return
        choose(name)
