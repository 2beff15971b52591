# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy accounting of a task: robot, actuators, and what the end effector holds."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.audit import ExergyMap
from vms_ph_dynamics.simulation import HeldMechanism, Simulation

from .payload_use import PayloadUse
from .task_goals import at_most

# Energies that are rounding are not shown, J.
_SMALLEST_ENERGY = 1e-12


class TaskEnergy:
    """What was given, stored and lost since the start, and what of it is unaccounted."""

    def __init__(
        self,
        simulation: Simulation,
        plant: VMSModel,
        mechanism: HeldMechanism | None,
        payload: PayloadUse | None,
        ground_moves: bool,
    ) -> None:
        """Begin now.

        Args:
            simulation: of the robot.
            plant: the robot.
            mechanism: mechanism in its grip.
            payload: body that it takes.
            ground_moves: whether the mechanism is fixed in a ground that moves.
        """
        self._simulation, self._mechanism, self._payload = simulation, mechanism, payload
        self._ground_moves = ground_moves
        self._mechanical_at_start = self._mechanical(plant)

    def goal(self, plant: VMSModel, most: float) -> dict[str, Any]:
        """Return the residual as a goal.

        Args:
            plant: the robot now.
            most: largest residual, J.
        """
        residual = self._residual(plant)
        goal = at_most(most, "residual of the energy balance (J)", abs(residual))
        return {**goal, "obtained": residual}

    def energies(self, plant: VMSModel) -> Mapping[str, float]:
        """Return what was given, stored and lost, J.

        Args:
            plant: the robot now.
        """
        now, simulation = self._simulation.sample(), self._simulation
        energies_by_name = {"stored": self._mechanical(plant) - self._mechanical_at_start}
        port_energies = {
            name: e for name, e in now.port_energy.items() if abs(e) > _SMALLEST_ENERGY
        }
        if self._mechanism is not None:
            port_energies.pop("wrench_end_effector", None)
        energies_by_name |= {f"from {name}": e for name, e in port_energies.items()}
        energies_by_name |= self._of_held() | self._of_payload()
        if simulation.actuation is None:
            return {**energies_by_name, "lost in joints_and_drag": now.dissipated}
        energies_by_name.pop("from wrench_base", None)
        exergy = simulation.exergy_map()
        energies_by_name["from supply"] = -exergy.stored["supply"]
        for part, energy in exergy.destroyed.items():
            name = f"lost in {part.rpartition('/')[2]}"
            energies_by_name[name] = energies_by_name.get(name, 0.0) + energy
        return energies_by_name

    def _of_held(self) -> dict[str, float]:
        mechanism = self._mechanism
        if mechanism is None:
            return {}
        energies_of_mechanism = {f"stored in {name}": e for name, e in mechanism.stored.items()}
        energies_of_mechanism |= {f"lost in {name}": e for name, e in mechanism.lost.items()}
        return energies_of_mechanism | (
            {"from ground": mechanism.from_ground} if self._ground_moves else {}
        )

    def _of_payload(self) -> dict[str, float]:
        payload = self._payload
        if payload is None:
            return {}
        energies_of_payload = {"from payload": payload.brought, "left in payload": payload.left}
        energies_of_payload |= {f"lost in {name}": energy for name, energy in payload.lost.items()}
        return {name: energy for name, energy in energies_of_payload.items() if energy}

    def _mechanical(self, plant: VMSModel) -> float:
        d = plant.evaluate(self._simulation.q, self._simulation.v)
        return float(d.kinetic_energy + d.potential_energy)

    def _residual(self, plant: VMSModel) -> float:
        exergy = self._simulation.exergy_map()
        return float(with_held(exergy, self._mechanism, self._payload).residual)


def with_held(
    exergy: ExergyMap, mechanism: HeldMechanism | None, payload: PayloadUse | None
) -> ExergyMap:
    """Return the map of a robot with a mechanism in its grip or a body that it takes.

    What these store and lose is theirs; the body and a ground that moves supply energy.
    """
    stored, lost, supplied = dict(exergy.stored), dict(exergy.destroyed), dict(exergy.supplied)
    if mechanism is not None:
        stored |= mechanism.stored
        lost |= {f"mechanism/{name}": energy for name, energy in mechanism.lost.items()}
        supplied["wrench_end_effector"] -= mechanism.energy_to_robot
        supplied["ground"] = mechanism.from_ground
    if payload is not None:
        lost |= {f"payload/{name}": energy for name, energy in payload.lost.items()}
        supplied["payload"] = payload.brought - payload.left
    body_residuals = sum(body.residual for body in (mechanism, payload) if body is not None)
    residual = exergy.residual + body_residuals
    return replace(exergy, stored=stored, destroyed=lost, supplied=supplied, residual=residual)
