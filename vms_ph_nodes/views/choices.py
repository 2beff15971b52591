# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The choice of demo, robot, law and scene on a page of ``vms-ph demo`` or ``vms-ph page``."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vms_ph_controllers.hosting.loading import bundled_controllers, suitable_controllers
from vms_ph_dynamics import Allocation, VmsPhError

from ..check_settings import check, choices
from .controls import Panel, send, show_refusal, text_html

_NONE = {"demo": "none", "law": "as in the parameter file", "scene": "none"}

# Launch arguments of other names than on the page.
_ARGUMENTS = {"law": "controller"}


class Choices:
    """Lists of demos, robots, laws and scenes: bundled ones, and those that the launch names.

    Attributes:
        offered: which of the lists there are.
    """

    def __init__(
        self,
        panel: Panel,
        arguments: Mapping[str, str],
        allocation: Allocation | None,
        offered: Sequence[str],
    ) -> None:
        """Add them to the page.

        Args:
            panel: where on the page, and of the present robot.
            arguments: of the launch: those that are chosen now, and further ones.
            allocation: of the base.
            offered: which of the lists are shown.
        """
        self._robot, self._commands, self.offered = arguments["robot"], panel.commands, offered
        # Launch files of tasks hand the name of theirs to all nodes.
        arguments = {**arguments, "demo": os.environ.get("VMS_PH_TASK", "")}
        unsuitable = {*bundled_controllers()} - {*suitable_controllers(panel.model, allocation)}
        gui = panel.server.gui
        with panel.tab, gui.add_folder(", ".join(offered).capitalize(), order=-1.0) as self.folder:
            for choice, names in choices(arguments).items():
                if choice not in offered:
                    continue
                chosen = arguments.get(_ARGUMENTS.get(choice, choice), "")
                none = _NONE.get(choice, "")
                suitable = [name for name in names if name == chosen or name not in unsuitable]
                chosen = chosen if chosen in names else ""
                entries = (*filter(None, [none, *suitable]),)
                hint = "it needs MuJoCo" if choice == "scene" else None
                field = gui.add_dropdown(choice, entries, initial_value=chosen or none, hint=hint)
                field.on_update(self._on_choice(choice, field, entries))
            self._answer = gui.add_html(text_html("The page begins anew with what is chosen."))

    def remove(self) -> None:
        """Take them from the page."""
        self.folder.remove()

    def _on_choice(self, choice: str, field: Any, names: tuple[str, ...]) -> Callable[[Any], None]:
        def chosen(_: Any) -> None:
            name = field.value
            if name in names:  # a program may send any other, which must not be loaded
                self._take(choice, "" if name == _NONE.get(choice) else name)

        return chosen

    def _take(self, choice: str, name: str) -> None:
        """Choose another robot, law or scene, once it is known to fit."""
        request = self._commands.choose(choice, name)
        try:
            if choice != "demo":
                check({"robot": self._robot, _ARGUMENTS.get(choice, choice): name})
        except VmsPhError as error:
            show_refusal(self._answer, request, str(error))
            return
        send(self._answer, request)
