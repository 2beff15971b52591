# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy accounting of a task: robot, actuators, and what the end effector holds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.exergy_map import ExergyMap
from vms_ph_dynamics.simulation import HeldMechanism, Simulation

from .payload_use import PayloadUse

# Energies that are rounding are not shown, J.
_NOTHING = 1e-12


class TaskEnergy:
    """What was given, stored and lost since the start, and what of it is unaccounted."""

    def __init__(
        self,
        simulation: Simulation,
        plant: VMSModel,
        held: HeldMechanism | None,
        payload: PayloadUse | None,
        ground_moves: bool,
    ) -> None:
        """Begin now.

        Args:
            simulation: of the robot.
            plant: the robot.
            held: mechanism in its grip.
            payload: body that it takes.
            ground_moves: whether the mechanism is fixed in a ground that moves.
        """
        self._simulation, self._held, self._payload = simulation, held, payload
        self._ground_moves = ground_moves
        self._begun = self._mechanical(plant)

    def goal(self, plant: VMSModel, most: float) -> dict[str, Any]:
        """Return the residual as a goal.

        Args:
            plant: the robot now.
            most: largest residual, J.
        """
        residual = self._residual(plant)
        return {
            "what": "residual of the energy balance (J)",
            "wanted": most,
            "obtained": residual,
            "met": abs(residual) <= most,
        }

    def energies(self, plant: VMSModel) -> Mapping[str, float]:
        """Return what was given, stored and lost, J.

        Args:
            plant: the robot now.
        """
        now, simulation = self._simulation.sample(), self._simulation
        found = {"stored": self._mechanical(plant) - self._begun}
        given = {name: e for name, e in now.port_energy.items() if abs(e) > _NOTHING}
        if self._held is not None:
            given.pop("wrench_end_effector", None)
        found |= {f"from {name}": e for name, e in given.items()}
        found |= self._of_held() | self._of_payload()
        if simulation.actuation is None:
            return {**found, "lost in joints_and_drag": now.dissipated}
        found.pop("from wrench_base", None)
        exergy = simulation.exergy_map()
        found["from supply"] = -exergy.stored["supply"]
        for place, energy in exergy.destroyed.items():
            name = f"lost in {place.rpartition('/')[2]}"
            found[name] = found.get(name, 0.0) + energy
        return found

    def _of_held(self) -> dict[str, float]:
        held = self._held
        if held is None:
            return {}
        found = {f"stored in {name}": e for name, e in held.stored.items()}
        found |= {f"lost in {name}": e for name, e in held.lost.items()}
        return found | ({"from ground": held.from_ground} if self._ground_moves else {})

    def _of_payload(self) -> dict[str, float]:
        payload = self._payload
        if payload is None:
            return {}
        found = {"from payload": payload.brought, "left in payload": payload.left}
        found |= {f"lost in {name}": energy for name, energy in payload.lost.items()}
        return {name: energy for name, energy in found.items() if energy}

    def _mechanical(self, plant: VMSModel) -> float:
        d = plant.evaluate(self._simulation.q, self._simulation.v)
        return float(d.kinetic_energy + d.potential_energy)

    def _residual(self, plant: VMSModel) -> float:
        found = self._simulation.exergy_map()
        return float(with_held(found, self._held, self._payload).residual)


def with_held(
    found: ExergyMap, held: HeldMechanism | None, payload: PayloadUse | None
) -> ExergyMap:
    """Return the map of a robot with a mechanism in its grip or a body that it takes.

    What these store and lose is theirs; the body and a ground that moves supply energy.
    """
    stored, lost, supplied = dict(found.stored), dict(found.destroyed), dict(found.supplied)
    if held is not None:
        stored |= held.stored
        lost |= {f"mechanism/{name}": energy for name, energy in held.lost.items()}
        supplied["wrench_end_effector"] -= held.energy_to_robot
        supplied["ground"] = held.from_ground
    if payload is not None:
        lost |= {f"payload/{name}": energy for name, energy in payload.lost.items()}
        supplied["payload"] = payload.brought - payload.left
    beside = sum(each.residual for each in (held, payload) if each is not None)
    residual = found.residual + beside
    return replace(found, stored=stored, destroyed=lost, supplied=supplied, residual=residual)
