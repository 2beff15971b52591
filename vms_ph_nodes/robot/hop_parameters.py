# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of a leg on its floor: where it starts, the floor, and the integrator."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import OptionError
from vms_ph_dynamics.simulation import Control
from vms_ph_hopping import Floor, Leg, LegLaw
from vms_ph_hopping.simulation import HoppingSimulation
from vms_ph_hopping.task import HoppingTask

from ..node.parameters import declare


def hop_parameters(task: HoppingTask) -> dict[str, Any]:
    """Return the parameters ``hop.*`` of a task of a leg."""
    found: dict[str, Any] = {"hop.tolerance": float(task.tolerance)}
    if task.friction is not None:
        found["hop.friction"] = float(task.friction)
    for name in ("start", "velocity"):
        if getattr(task, name):
            found[f"hop.{name}"] = [float(value) for value in getattr(task, name)]
    return found


class HopParameters:
    """What a simulator with a floor is told of its leg."""

    def __init__(self, node: Node) -> None:
        """Declare the parameters ``hop.*``.

        Raises:
            OptionError: one has not four finite numbers.
        """
        self._start, self._velocity = (_four(node, name) for name in ("start", "velocity"))
        friction: float = declare(node, "hop.friction")
        self._floor = replace(Floor(), friction=friction or None)
        self._tolerance: float = declare(node, "hop.tolerance")

    def check(self, floor: bool) -> None:
        """Check that there is a floor where a start is set.

        Raises:
            OptionError: there is none.
        """
        if not floor and (self._start.any() or self._velocity.any()):
            raise OptionError("hop.start and hop.velocity are those of a leg; set floor:=true")

    def home(self, model: VMSModel, home: Array) -> Array:
        """Return the configuration at the start, (nq,); ``home`` where none is set."""
        return Leg(model).configuration(self._start) if self._start.any() else home

    def simulation(
        self,
        model: VMSModel,
        home: Array,
        step: float,
        control: Control | None,
        law: Callable[[], LegLaw | None] | None,
    ) -> HoppingSimulation:
        """Return the simulation.

        Raises:
            ModelError: the robot is not a leg.
        """
        return HoppingSimulation(
            model, home, step, control, law, self._floor, self._velocity, self._tolerance
        )


def _four(node: Node, name: str) -> Array:
    given: list[float] = declare(node, f"hop.{name}")
    if len(given) != 4 or not np.isfinite(given).all():
        raise OptionError(f"hop.{name} must be four numbers; given: {list(given)}")
    return np.array(given, dtype=float)
