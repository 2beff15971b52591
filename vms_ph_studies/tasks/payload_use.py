# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The payload of a task: how a robot takes it and sets it down, and what that costs."""

from typing import Any

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import OptionError
from vms_ph_dynamics.simulation import ActuatedSimulation, Payload, Simulation
from vms_ph_dynamics.simulation.payload import motion_energy, plastic_loss
from vms_ph_dynamics.space.capture import Body, capture, carrying
from vms_ph_dynamics.structure import StandardForm
from vms_ph_dynamics.structure.momenta import momenta

# Largest change of the momentum of robot and body where nothing pushes them, relative.
_KEPT = 1e-6


class PayloadUse:
    """A body that is free, then carried, then possibly set down.

    Attributes:
        taken: how far the end effector was from the handle when it took the body, m; None before.
        carried: in the axes of the end effector; None while it is not carried.
        brought: energy that the body had when it was taken, J.
        left: energy that it has after it was set down, J.
        lost: kinetic energy lost by taking it and setting it down, J.
    """

    def __init__(self, payload: Payload, model: VMSModel, home: Array) -> None:
        """Put it where it will be taken.

        Args:
            payload: the body.
            model: the robot without it.
            home: (nq,) its configuration at the start.

        Raises:
            OptionError: it would fall before it is taken, or the robot is not in air or space.
        """
        falls = bool(np.any(model.gravity)) and payload.moves
        if falls:
            raise OptionError(
                "a payload that moves before it is taken is for tasks without gravity; give "
                "gravity: [0, 0, 0], or neither velocity nor spin"
            )
        if model.fluid is not None:
            raise OptionError(
                f"a payload is for robots in air or space; '{model.name}' is in water"
            )
        self.payload, self._model = payload, model
        d = model.evaluate(home, np.zeros(model.nv))
        self._handle = d.placement(model.end_effector)[:3, 3] + payload.place
        self.taken: float | None = None
        self.carried: Body | None = None
        self._grip = np.zeros(3)
        self._set_down: Array | None = None
        self._sunk = 0.0
        self.brought = self.left = 0.0
        self.lost = {"capture": 0.0, "setting_down": 0.0}

    @property
    def changes(self) -> tuple[float, ...]:
        """The times at which it is taken and set down, s."""
        at, release = self.payload.at, self.payload.release
        return (at,) if release is None else (at, release)

    def known(self, model: VMSModel) -> VMSModel:
        """Return what the law knows of the robot now, from the robot without the body."""
        told = self.carried is not None and self.payload.told
        return carrying(model, self.carried) if told and self.carried else model

    def change(self, simulation: Simulation, plant: VMSModel) -> VMSModel:
        """Take the body, or set it down; return the robot as it goes on.

        Args:
            simulation: at the time of a change.
            plant: the robot without the body.
        """
        now = simulation.sample()
        if self.taken is not None and self.carried is None:
            return plant
        if self.carried is not None:
            energies = motion_energy(plant, self.carried, now.q, now.v)
            self.lost["setting_down"], self.left = energies[0], energies[1]
            self._set_down, self.carried = self.place(now.q), None
            simulation.go_on_with(StandardForm(plant), now.v)
            return plant
        d = plant.evaluate(now.q, now.v)
        pose = d.placement(plant.end_effector)
        self.taken = float(np.linalg.norm(pose[:3, 3] - self._handle))
        if self.taken > self.payload.reach:
            return plant
        body, twist = self.payload.in_grasp(d, self._handle)
        found = capture(plant, now.q, now.v, body, twist)
        self._grip = (self._handle - pose[:3, 3]) @ pose[:3, :3]
        potential = motion_energy(plant, body, now.q, now.v)[1]
        self.brought = self.payload.kinetic_energy + potential
        self.lost["capture"] = plastic_loss(d, body, twist)
        self.carried = body
        simulation.go_on_with(StandardForm(found.model), found.v)
        return found.model

    def see(self, q: Array) -> None:
        """Take a configuration (nq,): the body may not go through what it rested on."""
        if self.carried is not None and np.any(self._model.gravity):
            up = -self._model.gravity / np.linalg.norm(self._model.gravity)
            above = float(up @ (self.place(q) - self._handle))
            lowest = 0.0 if self.payload.to is None else min(0.0, float(up @ self.payload.to))
            self._sunk = max(self._sunk, lowest - above)

    @property
    def residual(self) -> float:
        """What is to be added to the residual of the robot's energy balance, J."""
        return sum(self.lost.values()) + self.left - self.brought

    def place(self, q: Array) -> Array:
        """Return where the handle is, (3,) m."""
        if self._set_down is not None:
            return self._set_down
        if self.carried is None:
            return self._handle
        d = self._model.evaluate(q, np.zeros(self._model.nv))
        pose = d.placement(self._model.end_effector)
        return np.asarray(pose[:3, 3] + pose[:3, :3] @ self._grip)

    def momentum(self, simulation: Simulation, plant: VMSModel) -> Array | None:
        """Return the momentum of robot and body about the origin, (6,); None where it changes."""
        if not isinstance(simulation, ActuatedSimulation) or np.any(plant.gravity):
            return None
        actuation = simulation.actuation
        if np.abs(actuation.actuators.allocation.matrix[:3]).max() > 0.0:
            return None
        now = simulation.sample()
        d = plant.evaluate(now.q, now.v)
        total = np.array(momenta(d).spatial)
        total[3:] += plant.base_pose(now.q)[:3, :3] @ actuation.momentum
        if self.carried is None:
            total += self.payload.momentum(self._handle)
        return total

    def goals(self, q: Array, kept: tuple[Array, Array] | None) -> dict[str, dict[str, Any]]:
        """Return what was to be reached with it.

        Args:
            q: (nq,) configuration at the end.
            kept: momentum at the start and at the end, where nothing changes it.
        """
        found: dict[str, tuple[str, float, float | None]] = {
            "taken": ("distance to the handle when it is taken (m)", self.payload.reach, self.taken)
        }
        if self.payload.to is not None:
            set_down = self._set_down is not None or self.payload.release is None
            away = float(np.linalg.norm(self.place(q) - self._handle - self.payload.to))
            found["payload"] = (
                "distance of the payload from its place (m)",
                self.payload.within,
                away if set_down and self.taken is not None else None,
            )
        if np.any(self._model.gravity):
            what = "depth of the payload below its support (m)"
            found["support"] = (what, self.payload.within, self._sunk)
        if kept is not None:
            before, after = kept
            for name, part in (("linear", slice(3)), ("angular", slice(3, 6))):
                change = np.linalg.norm(after[part] - before[part])
                share = float(change / max(np.linalg.norm(before[part]), 1e-9))
                found[f"{name}_momentum"] = (f"change of the {name} momentum (1)", _KEPT, share)
        return {
            name: {
                "what": what,
                "wanted": most,
                "obtained": value,
                "met": value is not None and value <= most,
            }
            for name, (what, most, value) in found.items()
        }
