# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A node that evaluates the motion of a robot."""

import time
from abc import abstractmethod

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.robot.kinematic_tree import LinkTree

from ..messages.frames import inertial_frame, with_prefix
from ..node.health import WARN, Health, InputDiagnostics
from ..node.parameters import declare
from ..node.process import ReportingNode
from ..node.robot_parameters import RobotParameters
from .robot_motion import MotionListener, RobotMotion

# Time after a motion in which the status is what the node says of it, whatever else is refused, s.
_FRESH = 0.5


class MotionNode(ReportingNode):
    """A node with the parameters of a robot, which receives every motion of it.

    A subclass calls :meth:`watch` at the end of its constructor.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._robot = RobotParameters(self)
        self._prefix: str = declare(self, "frame_prefix")
        self._health = Health(self, input_name="joint states")
        self._input_diagnostics, self._taken = InputDiagnostics(self), -_FRESH
        self._health.report(WARN, "no joint states received yet")

    def watch(self) -> None:
        """Listen to the robot as soon as its description is known."""
        self._robot.when_known(self._watch)

    def _watch(self, model: VMSModel) -> None:
        self._model, self._root = model, LinkTree(model.tree).root
        self._base_frame = with_prefix(self._prefix, self._root)
        self._inertial_frame = with_prefix(self._prefix, inertial_frame(model, self._root))
        self._health.declare_robot(model)
        self.begin(model)
        self._listener = MotionListener(
            self,
            model,
            self._take,
            self._refuse,
            self._robot.settings.water_current(model),
        )

    def _take(self, motion: RobotMotion) -> None:
        self._taken = time.monotonic()
        self.on_motion(motion)

    def _refuse(self, why: str) -> None:
        self._input_diagnostics.report(why)
        if time.monotonic() - self._taken > _FRESH:
            self._health.report(WARN, f"ignored: {why}")

    @abstractmethod
    def begin(self, model: VMSModel) -> None:
        """Take the robot; called once, before the first motion."""

    @abstractmethod
    def on_motion(self, motion: RobotMotion) -> None:
        """Take a motion of the robot."""
