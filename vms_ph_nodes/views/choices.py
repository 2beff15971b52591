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
from .commands import Commands
from .controls import send, shell

AS_CONFIGURED = "as in the parameter file"
NO_SCENE = "none"

# Launch arguments of other names than on the page.
_ARGUMENTS = {"law": "controller"}

_FILES = {
    "robot": "path of a URDF, xacro or MJCF file",
    "law": "package.module:Class or path/to/law.py:Class",
    "scene": "path of a YAML file",
}


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
        self._commands = commands
        known_robots = robots.names()
        user_robots = () if self._robot in known_robots else (self._robot,)
        offers = {
            "robot": ((*user_robots, *known_robots), self._robot, None),
            "law": ((AS_CONFIGURED, *suitable_controllers(model, allocation)), law, None),
            "scene": ((NO_SCENE, *scenes.names()), scene, "it needs MuJoCo"),
        }
        gui = server.gui
        with tab, gui.add_folder("Robot, law and scene", order=-1.0) as self.folder:
            for choice, (names, chosen, hint) in offers.items():
                names = names if not chosen or chosen in names else (*names, chosen)
                field = gui.add_dropdown(choice, names, initial_value=chosen or names[0], hint=hint)
                field.on_update(self._on_choice(choice, field))
            files = {
                choice: gui.add_text(f"own {choice}", "", hint=hint)
                for choice, hint in _FILES.items()
            }
            open_file = gui.add_button("take what is written")
            self._answer = gui.add_markdown(
                "The page begins anew with another robot, law or scene."
            )

        @open_file.on_click
        def _(_: Any) -> None:
            choice = next((choice for choice, text in files.items() if text.value), None)
            if choice is not None:
                self._take(choice, files[choice].value)

    def remove(self) -> None:
        """Take them from the page."""
        self.folder.remove()

    def _on_choice(self, choice: str, field: Any) -> Callable[[Any], None]:
        def chosen(_: Any) -> None:
            self._take(choice, "" if field.value in (AS_CONFIGURED, NO_SCENE) else field.value)

        return chosen

    def _take(self, choice: str, name: str) -> None:
        """Choose another robot, law or scene, once it is known to fit."""
        request = self._commands.choose(choice, name)
        try:
            check({"robot": self._robot, _ARGUMENTS.get(choice, choice): name})
        except VmsPhError as error:
            self._answer.content = f"{shell(request.command)}\n\n**not done**: {error}"
            return
        send(self._answer, request)
