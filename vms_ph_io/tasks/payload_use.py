# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The payload of a task: how a robot takes it and sets it down, and the energies of both."""

from dataclasses import replace

import numpy as np

from vms_ph_dynamics import Array, OptionError, StandardForm, VMSModel, momenta
from vms_ph_dynamics.capture import Body, capture, with_body
from vms_ph_dynamics.energy.audit import ExergyMap
from vms_ph_dynamics.groups import pose
from vms_ph_dynamics.simulation import HeldMechanism, Payload, Simulation
from vms_ph_dynamics.simulation.payload import carried_energies, carried_wrench, plastic_loss


class PayloadUse:
    """A body that is free, then carried, then possibly set down.

    Attributes:
        capture_distance: from the end effector to the handle when it took the body, m; None before.
        load: the body in the axes of the end effector; None while it is not carried.
        initial_energy: energy that the body had when it was taken, J.
        final_energy: energy that it has after it was set down, J.
        losses: kinetic energy lost by taking it and setting it down, J.
    """

    def __init__(self, payload: Payload, model: VMSModel, home: Array) -> None:
        """Put it where it will be taken.

        Args:
            payload: the body.
            model: the robot without it.
            home: (nq,) its configuration at the start.

        Raises:
            OptionError: it would fall before it is taken, or the robot is not in air or space.
            ModelError: the end effector does not move.
        """
        if np.any(model.gravity) and payload.moves:
            text = "a payload that moves before it is taken is for tasks without gravity; give "
            text += "gravity: [0, 0, 0], or neither velocity nor spin"
            raise OptionError(text)
        if model.fluid is not None:
            raise OptionError(
                f"a payload is for robots in air or space; '{model.name}' is in water"
            )
        with_body(model, Body(payload.mass, np.zeros(3), np.diag(payload.moments)))
        self.payload, self._model = payload, model
        self._handle = payload.place + model.placement(model.end_effector, home)[:3, 3]
        self.reset()

    def reset(self) -> None:
        """Put it where it was at the start; the robot that carried it begins anew without it."""
        self.capture_distance: float | None = None
        self.load: Body | None = None
        self._grip: Array = np.eye(4)  # pose of the handle in the axes of the end effector
        self._final_pose: Array | None = None  # of the handle
        self.initial_energy = self.final_energy = 0.0
        self.losses = {"capture": 0.0, "setting_down": 0.0}

    @property
    def change_times(self) -> tuple[float, ...]:
        """The times at which it is taken and set down, s."""
        grasp, release = self.payload.capture_time, self.payload.release
        return tuple(time for time in (grasp, release) if time is not None and np.isfinite(time))

    @property
    def miss_reason(self) -> str:
        """Why it was not taken at its time, in words; empty otherwise."""
        distance, reach = self.capture_distance, self.payload.reach
        if distance is None or distance <= reach:
            return ""
        return (
            f"the payload was not taken: it was {distance:.3g} m from the end effector, its reach "
            f"is {reach:g} m"
        )

    @property
    def is_set_down(self) -> bool:
        """Whether it has been set down."""
        return self._final_pose is not None

    def law_model(self, model: VMSModel) -> VMSModel:
        """Return the model that the law has, from that of the robot without the body."""
        if self.load is None or not self.payload.in_model:
            return model
        return with_body(model, self.load)

    def change(self, simulation: Simulation, plant: VMSModel) -> VMSModel:
        """Take the body, or set it down; return the robot as it goes on.

        Args:
            simulation: at the time of a change.
            plant: the robot without the body.
        """
        if self.load is not None:
            return self.set_down(simulation, plant)
        return plant if self.capture_distance is not None else self.take(simulation, plant)

    def set_down(self, simulation: Simulation, plant: VMSModel) -> VMSModel:
        """Set down the body that is carried; return the robot without it."""
        assert self.load is not None
        sample = simulation.sample()
        energies = carried_energies(plant, self.load, sample.q, sample.v)
        self.losses["setting_down"], self.final_energy = energies[0], energies[1]
        self._final_pose, self.load = self.pose(sample.q, sample.time), None
        simulation.change_robot(StandardForm(plant), sample.v)
        return plant

    def take(self, simulation: Simulation, plant: VMSModel) -> VMSModel:
        """Take the body where it is within reach; return the robot as it goes on."""
        sample = simulation.sample()
        d = plant.evaluate(sample.q, sample.v)
        tool_pose = d.placement(plant.end_effector)
        self.capture_distance = float(np.linalg.norm(tool_pose[:3, 3] - self._handle))
        if self.capture_distance > self.payload.reach:
            return plant
        body, twist = self.payload.body_and_twist_in_tool(d, self._handle)
        capture_result = capture(plant, sample.q, sample.v, body, twist)
        self._grip = np.linalg.solve(tool_pose, pose(np.eye(3), self._handle))
        potential = carried_energies(plant, body, sample.q, sample.v)[1]
        self.initial_energy = self.payload.kinetic_energy + potential
        self.losses["capture"] = plastic_loss(d, body, twist)
        self.load = body
        simulation.change_robot(StandardForm(capture_result.model), capture_result.v)
        return capture_result.model

    @property
    def residual(self) -> float:
        """What is to be added to the residual of the robot's energy balance, J."""
        return sum(self.losses.values()) + self.final_energy - self.initial_energy

    def handle_position(self, q: Array) -> Array:
        """Return where the handle is, (3,) m; before it is taken where it will be then."""
        return self.pose(q, self.payload.capture_time)[:3, 3]

    def pose(self, q: Array, time: float) -> Array:
        """Return the pose of the handle, (4,4), with the inertial axes of when it is taken.

        Args:
            q: (nq,) configuration.
            time: s.
        """
        if self._final_pose is not None:
            return self._final_pose
        if self.load is None:
            return self.payload.free_pose(time, self._handle)
        return np.asarray(self._model.placement(self._model.end_effector, q) @ self._grip)

    def supplied_work(self, q: Array, v: Array) -> float:
        """Return the energy that the end effector has received from it since the start, J.

        Args:
            q: (nq,) configuration.
            v: (nv,) velocity.
        """
        terms = () if self.load is None else carried_energies(self._model, self.load, q, v)
        return -self.residual - sum(terms)

    def wrench(self, simulation: Simulation) -> Array:
        """Return its wrench on the end effector, (6,) in the axes of that."""
        if self.load is None:
            return np.zeros(6)
        sample = simulation.sample()
        d = self._model.evaluate(sample.q, sample.v)
        return carried_wrench(d, self.load, simulation.acceleration())

    def momentum(self, simulation: Simulation, plant: VMSModel) -> Array | None:
        """Return the momentum of robot and body about the origin, (6,); None where it changes."""
        actuation = simulation.actuation
        if actuation is None or np.any(plant.gravity):
            return None
        if np.abs(actuation.actuators.allocation.matrix[:3]).max() > 0.0:
            return None
        sample = simulation.sample()
        total_momentum = np.array(momenta(plant.evaluate(sample.q, sample.v)).spatial)
        total_momentum[3:] += plant.base_pose(sample.q)[:3, :3] @ actuation.momentum
        if self.load is None:
            total_momentum += self.payload.momentum(self._handle)
        return total_momentum


# Energies that are rounding are not shown, J.
_SMALLEST_ENERGY = 1e-12


def energies_between(start: ExergyMap, end: ExergyMap) -> dict[str, float]:
    """Return energies stored in the robot and other parts, supplied and lost between two maps, J.

    Args:
        start: see :func:`with_grasp`.
        end: the same later.
    """
    changes = {name: e - start.stored.get(name, 0.0) for name, e in end.stored.items()}
    robot_change = changes.pop("kinetic") + changes.pop("potential")
    energies = {"from supply": -changes.pop("supply", 0.0)}
    energies |= {f"stored in {name}": change for name, change in changes.items()}
    energies |= {f"from {name}": energy for name, energy in end.supplied.items()}
    for part, energy in end.destroyed.items():  # of all actuators together
        name = f"lost in {part.rpartition('/')[2]}"
        energies[name] = energies.get(name, 0.0) + energy
    nonzero = {name: energy for name, energy in energies.items() if abs(energy) > _SMALLEST_ENERGY}
    return {"stored": robot_change, **nonzero}


def with_grasp(
    exergy: ExergyMap, mechanism: HeldMechanism | None, payload: PayloadUse | None
) -> ExergyMap:
    """Return the map of a robot with a mechanism in its grip or a body that it takes.

    What these store and lose is theirs; the body and a ground that moves supply energy.
    """
    stored, destroyed, supplied = dict(exergy.stored), dict(exergy.destroyed), dict(exergy.supplied)
    if mechanism is not None:
        stored |= mechanism.stored_energies
        destroyed |= {f"mechanism/{name}": energy for name, energy in mechanism.lost.items()}
        supplied["wrench_end_effector"] -= mechanism.energy_to_robot
        supplied["ground"] = mechanism.from_ground
    if payload is not None:
        destroyed |= {f"payload/{name}": energy for name, energy in payload.losses.items()}
        supplied["payload"] = payload.initial_energy - payload.final_energy
    residual = exergy.residual + sum(b.residual for b in (mechanism, payload) if b is not None)
    return replace(exergy, stored=stored, destroyed=destroyed, supplied=supplied, residual=residual)
