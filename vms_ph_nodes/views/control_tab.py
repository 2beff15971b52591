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
    """The controls of one robot."""

    def __init__(
        self,
        server: viser.ViserServer,
        tab: Any,
        commands: Commands,
        recording: Recording,
        robot: RobotParameters,
        model: VMSModel,
        scene: RobotScene,
        world: WorldView,
        target: Callable[[], tuple[Array, Array]],
        start: Array,
    ) -> None:
        """Add them to the page.

        Args:
            server: of the page.
            tab: where on the page.
            commands: of the node.
            recording: of all topics.
            robot: parameters of the node.
            model: the robot.
            scene: where it is drawn.
            world: in which it is drawn.
            target: returns position (3,) and quaternion wxyz (4,) of what the reference is for.
            start: (nq,) configuration at the start.
        """
        self._server, self._tab, self._commands = server, tab, commands
        self._robot, self._model = robot, model
        inertial = Frames.of(model).inertial
        self._controls = Controls(server, tab, commands, model, inertial, target, recording, start)
        self._pull = PointerSpring(server, model, scene, commands, lambda: world.shift)
        self._choices: Choices | None = None
        self._has_gains = False

    def remove(self) -> None:
        """Take them from the page."""
        self._controls.remove()
        if self._choices is not None:
            self._choices.remove()

    def draw_pull(self) -> None:
        """Draw the spring at a link that is dragged."""
        self._pull.draw()

    def draw(self, paused: bool | None, speed: float | None) -> None:
        """Add gains and choices once they are known, and show how time passes.

        Args:
            paused: whether the simulation is paused; None: it is not known.
            speed: ratio of simulated to real time; None: it is not known.
        """
        if not self._has_gains:
            self._has_gains = self._commands.ask_gains(self._controls.show_gains)
        offered = self._commands.choices
        if offered and (self._choices is None or self._choices.offered != offered):
            if self._choices is not None:
                self._choices.remove()
            arguments = {**self._robot.arguments, "robot": self._robot.robot}
            allocation = self._robot.allocation()
            self._choices = Choices(
                self._server, self._tab, self._commands, self._model, arguments, allocation, offered
            )
        self._controls.show(paused, speed)
