# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What can be done on a live page: its controls, gains, choices, and links that are dragged."""

from collections.abc import Callable

from vms_ph_dynamics import Array

from ..messages.frames import Frames
from ..node.robot_parameters import RobotParameters
from .choices import Choices
from .commands import Recording
from .controls import Controls, Panel
from .pointer_spring import PointerSpring
from .robot_scene import RobotScene
from .viewpoint import WorldView


class ControlTab:
    """The controls of one robot."""

    def __init__(
        self,
        panel: Panel,
        recording: Recording,
        robot: RobotParameters,
        scene: RobotScene,
        world: WorldView,
        target: Callable[[], tuple[Array, Array]],
        start: Array,
    ) -> None:
        """Add them to the page.

        Args:
            panel: where on the page, and for which robot.
            recording: of all topics.
            robot: parameters of the node.
            scene: where the robot is drawn.
            world: in which it is drawn.
            target: returns position (3,) and quaternion wxyz (4,) of what the reference is for.
            start: (nq,) configuration at the start.
        """
        self._panel, self._robot = panel, robot
        server, _, self._commands, model = panel
        self._controls = Controls(panel, Frames.of(model).inertial, target, recording, start)
        self._pull = PointerSpring(server, model, scene, panel.commands, lambda: world.shift)
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
            self._choices = Choices(self._panel, arguments, self._robot.allocation(), offered)
        self._controls.show(paused, speed)
