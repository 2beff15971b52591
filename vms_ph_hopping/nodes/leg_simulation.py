# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The simulation of a leg on its floor in the node simulator, and its parameters ``hop.*``."""

from dataclasses import replace

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics import Array, OptionError, VMSModel
from vms_ph_dynamics.simulation import Control
from vms_ph_nodes.controller import ControllerNode
from vms_ph_nodes.node.parameters import declare

from .. import Floor, HoppingController, Leg, LegLaw
from ..simulation import HoppingSimulation


class LegParameters:
    """Where a leg starts, its floor, and the tolerance of its integrator."""

    def __init__(self, node: Node, has_floor: bool) -> None:
        """Declare the parameters ``hop.*``.

        Args:
            node: the simulator.
            has_floor: whether there is a floor.

        Raises:
            OptionError: one has not four finite numbers, or there is a start but no floor.
        """
        self._start, self._velocity = (_four_numbers(node, name) for name in ("start", "velocity"))
        friction: float = declare(node, "hop.friction")
        self._floor = replace(Floor(), friction=friction or None)
        self._tolerance: float = declare(node, "hop.tolerance")
        if not has_floor and (self._start.any() or self._velocity.any()):
            raise OptionError("hop.start and hop.velocity are those of a leg; set floor:=true")

    def initial_configuration(self, model: VMSModel, home: Array) -> Array:
        """Return the configuration at the start, (nq,); ``home`` where none is set."""
        return Leg(model).configuration(self._start) if self._start.any() else home

    def simulation(
        self,
        model: VMSModel,
        home: Array,
        step: float,
        control: Control | None,
        controller_node: ControllerNode | None,
    ) -> HoppingSimulation:
        """Return the simulation of a leg.

        Args:
            model: of the leg.
            home: (nq,) configuration at the start.
            step: control step, s.
            control: called at every step, or None.
            controller_node: whose law may have a law in continuous time, or None.

        Raises:
            ModelError: the robot is not a leg.
        """

        def law() -> LegLaw | None:
            controller = None if controller_node is None else controller_node.controller
            return controller.law if isinstance(controller, HoppingController) else None

        return HoppingSimulation(
            model, home, step, control, law, self._floor, self._velocity, self._tolerance
        )


def _four_numbers(node: Node, name: str) -> Array:
    numbers: list[float] = declare(node, f"hop.{name}")
    if len(numbers) != 4 or not np.isfinite(numbers).all():
        raise OptionError(f"hop.{name} must be four numbers; given: {list(numbers)}")
    return np.array(numbers, dtype=float)
