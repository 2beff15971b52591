# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy accounting of a task: robot, actuators, and what the end effector holds."""

from dataclasses import replace

from vms_ph_dynamics.energy.audit import ExergyMap
from vms_ph_dynamics.simulation import HeldMechanism

from .payload_use import PayloadUse

# Energies that are rounding are not shown, J.
_SMALLEST_ENERGY = 1e-12


def energies_between(start: ExergyMap, now: ExergyMap) -> dict[str, float]:
    """Return what was stored in the robot and in other parts, given and lost between two maps, J.

    Args:
        start: see :func:`with_held`.
        now: the same later.
    """
    changes = {name: e - start.stored.get(name, 0.0) for name, e in now.stored.items()}
    robot = changes.pop("kinetic") + changes.pop("potential")
    named = {"from supply": -changes.pop("supply", 0.0)}
    named |= {f"stored in {name}": change for name, change in changes.items()}
    named |= {f"from {name}": energy for name, energy in now.supplied.items()}
    for part, energy in now.destroyed.items():  # of all actuators together
        name = f"lost in {part.rpartition('/')[2]}"
        named[name] = named.get(name, 0.0) + energy
    shown = {name: energy for name, energy in named.items() if abs(energy) > _SMALLEST_ENERGY}
    return {"stored": robot, **shown}


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
