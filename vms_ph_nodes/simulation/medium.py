# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The water and the air that a simulated robot moves in: a steady current, and wind on its base."""

from dataclasses import fields

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.errors import OptionError
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.simulation import Simulation, Wind
from vms_ph_dynamics.simulation.efforts import add

from ..node.parameters import declare
from ..node.robot_parameters import RobotParameters


class Medium:
    """A current, in whose water the motion is integrated, and a wind that pushes the base.

    The wind is a wrench at the root link, a tool of the robot like others: its power is published,
    and accounted for by all nodes.

    Attributes:
        current: of the water around the robot, or None.
    """

    def __init__(self, node: Node, robot: RobotParameters) -> None:
        """Declare the parameters ``wind.*``."""
        self._robot = robot
        wind = {item.name: declare(node, f"wind.{item.name}") for item in fields(Wind)}
        velocity = wind["velocity"]
        if len(velocity) != 3 or not np.isfinite(velocity).all():
            raise OptionError(
                f"wind.velocity must be three numbers in m/s, like [2.0, 1.0, 0.0]; given: "
                f"{list(velocity)}"
            )
        wind["velocity"] = np.array(velocity, dtype=float)
        self._wind = Wind(**wind) if any(velocity) else None

    def surround(self, model: VMSModel) -> None:
        """Take the robot.

        Raises:
            OptionError: the robot is not in water that flows, or no wind can push it.
        """
        self._model, self._root = model, model.link_names[0]
        self.current = self._robot.settings.water_current(model)
        if self._wind is None:
            return
        self._wind.check(model)
        if self._root not in model.tools:
            raise OptionError(
                f"the wind pushes '{self._root}', which must be a port of all nodes: set "
                f"tools:={self._root}"
            )

    def advance(self, simulation: Simulation, steps: int, external: Efforts) -> None:
        """Integrate steps, in each of which the wind is that of its beginning."""
        if self._wind is None:
            simulation.advance(steps, external)
            return
        for _ in range(steps):
            now = simulation.sample()
            push = self._wind.ports(self._model, now.q, now.v, now.time + simulation.dt)
            simulation.advance(1, add(external, push))
