# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What can be done on a live page: its controls, gains, choices, and links that are dragged."""

from collections.abc import Callable
from typing import Any

import viser

from vms_ph_dynamics import Array, VMSModel

from ..messages.frames import Frames
from ..node.robot_parameters import RobotParameters
from .choices import Choices
from .commands import Commands, Recording
from .controls import Controls
from .pointer_spring import PointerSpring
from .robot_scene import RobotScene
from .viewpoint import WorldView


class ControlTab:
    """The tab of the controls of a robot; it is filled anew with every robot."""

    def __init__(
        self,
        server: viser.ViserServer,
        tab: Any,
        commands: Commands,
        recording: Recording,
        robot: RobotParameters,
    ) -> None:
        """Begin with an empty tab.

        Args:
            server: of the page.
            tab: where on the page.
            commands: of the node.
            recording: of all topics.
            robot: of the node.
        """
        self._server, self._tab, self._commands = server, tab, commands
        self._recording, self._robot = recording, robot
        self._model: VMSModel | None = None
        self._controls: Controls | None = None
        self._choices: Choices | None = None
        self._pull: PointerSpring | None = None
        self._has_gains = False

    def offer(
        self,
        model: VMSModel,
        scene: RobotScene,
        world: WorldView,
        target: Callable[[], tuple[Array, Array]],
        start: Array,
    ) -> None:
        """Offer the controls of a robot.

        Args:
            model: the robot.
            scene: where it is drawn.
            world: in which it is drawn.
            target: returns position (3,) and quaternion wxyz (4,) of what the reference is for.
            start: (nq,) configuration at the start.
        """
        if self._controls is not None:
            self._controls.remove()
        if self._choices is not None:
            self._choices.remove()
            self._choices = None
        inertial = Frames.of(model).inertial
        self._controls = Controls(
            self._server, self._tab, self._commands, model, inertial, target, self._recording, start
        )
        self._model, self._has_gains = model, False
        self._pull = PointerSpring(self._server, model, scene, self._commands, lambda: world.shift)

    def draw_pull(self) -> None:
        """Draw the spring at a link that is dragged."""
        if self._pull is not None:
            self._pull.draw()

    def draw(self, paused: bool | None, speed: float | None) -> None:
        """Add gains and choices once they are known, and show how time passes.

        Args:
            paused: whether the simulation is paused; None: it is not known.
            speed: ratio of simulated to real time; None: it is not known.
        """
        controls = self._controls
        if controls is None:
            return
        if not self._has_gains:
            self._has_gains = self._commands.ask_gains(controls.show_gains)
        offered = self._commands.choices
        if self._model and offered and (self._choices is None or self._choices.offered != offered):
            if self._choices is not None:
                self._choices.remove()
            self._choices = self._choices_of(self._model, offered)
        controls.show(paused, speed)

    def _choices_of(self, model: VMSModel, offered: list[str]) -> Choices:
        arguments = {**self._robot.arguments, "robot": self._robot.robot}
        allocation = self._robot.allocation()
        return Choices(
            self._server, self._tab, self._commands, model, arguments, allocation, offered
        )
