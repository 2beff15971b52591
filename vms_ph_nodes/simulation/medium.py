# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The water and the air that a simulated robot moves in: a steady current, and wind on its base."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import OptionError
from vms_ph_dynamics.simulation import Control, External, Sample, Simulation, ToolWrench
from vms_ph_dynamics.simulation.robot_task import Wind

from ..node.parameters import declare
from ..node.robot_parameters import RobotParameters


class Medium:
    """A current, in whose water the motion is integrated, and a wind that pushes the base.

    The wind is a wrench at the root link, a tool of the robot like others: its power is published,
    and accounted for by all nodes.
    """

    def __init__(self, node: Node, robot: RobotParameters) -> None:
        """Declare the parameters ``wind.*``."""
        self._robot = robot
        velocity: list[float] = declare(node, "wind.velocity")
        gust: float = declare(node, "wind.gust")
        period: float = declare(node, "wind.period")
        drag_area: float = declare(node, "wind.drag_area")
        density: float = declare(node, "wind.density")
        if len(velocity) != 3 or not np.isfinite(velocity).all():
            raise OptionError(
                f"wind.velocity must be three numbers in m/s, like [2.0, 1.0, 0.0]; given: "
                f"{list(velocity)}"
            )
        mean = np.array(velocity, dtype=float)
        self._wind: Wind | None = None
        if mean.any():
            self._wind = Wind(mean, gust, period, drag_area, density)

    @property
    def is_at_rest(self) -> bool:
        """Whether there is neither a current nor a wind."""
        return self._current is None and self._wind is None

    def surround(self, model: VMSModel) -> None:
        """Take the robot.

        Raises:
            OptionError: the robot is not in water that flows, or no wind can push it.
        """
        self._model, self._root = model, model.link_names[0]
        self._current = self._robot.settings.water_current(model)
        if self._wind is None:
            return
        if model.base != "floating":
            raise OptionError(
                f"a wind acts on floating bases; that of '{model.name}' is {model.base}"
            )
        if self._root not in model.tools:
            raise OptionError(
                f"the wind pushes '{self._root}', which must be a port of all nodes: set "
                f"tools:={self._root}"
            )

    def start_velocity(self, q: Array) -> Array | None:
        """Return the velocity (nv,) of a robot that is at rest over ground, or None for zero."""
        return None if self._current is None else self._current.start(self._model, q)

    @property
    def ground_velocity(self) -> Array | None:
        """Velocity of the ground as seen from the water, (3,); None where they do not move."""
        return None if self._current is None else -self._current.velocity

    def told(self, control: Control, time: Callable[[], float]) -> Control:
        """Return a control that is told the motion over ground; ``time`` is the simulated one."""
        current = self._current
        if current is None:
            return control

        def over_ground(q: Array, v: Array, dt: float) -> Any:
            return control(*current.over_ground(self._model, q, v, time()), dt)

        return over_ground

    def sample(self, simulation: Simulation) -> Sample:
        """Return the present motion over ground, with efforts and port energies."""
        now = simulation.sample()
        if self._current is None:
            return now
        q, v = self._current.over_ground(self._model, now.q, now.v, now.time)
        return replace(now, q=q, v=v)

    def advance(self, simulation: Simulation, steps: int, external: External) -> None:
        """Integrate steps, in each of which the wind is that of its beginning."""
        if self.is_at_rest:
            simulation.advance(steps, external)
            return
        # Single steps, also in a current: a loop in C++ does not tell its control the time.
        for _ in range(steps):
            simulation.advance(1, self._blowing(simulation, external))

    def _blowing(self, simulation: Simulation, external: External) -> External:
        """Return efforts with the force of the wind at the end of the next step."""
        if self._wind is None:
            return external
        now = simulation.sample()
        rotation = self._model.base_pose(now.q)[:3, :3]
        wrench = np.zeros(6)
        wrench[:3] = rotation.T @ self._wind.force(now.time + simulation.dt, rotation @ now.v[:3])
        pushed = external.wrench_tools.get(self._root)
        if pushed is not None:
            value = pushed.value.reshape(2, 3)
            wrench += (value if pushed.in_tool_axes else value @ rotation).ravel()
        tools = {**external.wrench_tools, self._root: ToolWrench(wrench)}
        return replace(external, wrench_tools=tools)
