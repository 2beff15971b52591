# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The temperatures of a robot's joints, heated by their friction."""

from collections.abc import Mapping, Sequence

import numpy as np

from vms_ph_dynamics.actuation.friction import Friction as JointFriction
from vms_ph_dynamics.arrays import Array, vector

from ..components import Component, Environment
from ..equations import assemble
from ..errors import StructureError
from ..simulation import simulate
from ..systems import System, compose
from .friction import Conduction, HeatCapacity
from .joint import Heat

# Explicit steps are stable below 2.8 time constants; a tenth of one is accurate to 1e-7.
_SHARE = 0.1


class JointHeat:
    """Heat capacities of joints with friction, connected to one environment.

    The velocities are measured or simulated elsewhere; here the heat of friction, ``u . mu u``,
    enters each joint as entropy at the joint's temperature and is conducted to the environment.

    Args:
        names: of the joints.
        friction: of the joints, in the same order.
        heat: of every joint; its capacity must be given.

    Raises:
        StructureError: there is no joint, or a joint has no heat capacity.
    """

    def __init__(self, names: Sequence[str], friction: JointFriction, heat: Heat) -> None:
        if heat.capacity is None or not names:
            raise StructureError("heated joints need names and a heat capacity, J/K")
        self.names, self._friction = tuple(names), friction
        self._ports = [f"joint_{k}" for k in range(len(names))]
        self.system = self._system(heat)
        self.equations = assemble(self.system)
        self._longest = _SHARE * heat.capacity / heat.conductance if heat.conductance else np.inf
        self._power = np.zeros(len(names))
        self.heat = 0.0
        self.reset()

    def reset(self) -> None:
        """Return all joints to their initial temperature."""
        self._state = self.equations.states.vector()
        self.heat = 0.0

    def update(self, before: Array, after: Array, dt: float) -> Mapping[str, float]:
        """Advance by an interval and return the temperatures by joint, K.

        The power of friction is averaged by Simpson's rule over linearly changing rates, which is
        exact for viscous friction.

        Args:
            before: (n,) joint rates at the beginning of the interval, rad/s or m/s.
            after: (n,) at its end.
            dt: s, above zero.
        """
        u_0 = vector(before, len(self.names), "rates")
        u_1 = vector(after, len(self.names), "rates")
        first, middle, last = (-u * self._friction.force(u) for u in (u_0, 0.5 * (u_0 + u_1), u_1))
        self._power = (first + 4.0 * middle + last) / 6.0
        steps = max(1, int(np.ceil(dt / self._longest)))
        motion = simulate(
            self.equations, self._state, dt / steps, steps, inputs=self._entropies, every=steps
        )
        self._state = motion.final
        self.heat += float(self._power.sum()) * dt
        return self.temperatures()

    def temperatures(self) -> Mapping[str, float]:
        """Return the temperatures by joint, K."""
        by_end = self.equations.storages.temperatures(self._state)
        return {
            name: by_end[f"{port}.s"] for name, port in zip(self.names, self._ports, strict=True)
        }

    def _entropies(self, t: float, x: Array) -> Mapping[str, Array]:
        by_end = self.equations.storages.temperatures(x)
        return {
            port: np.array([power / by_end[f"{port}.s"]])
            for port, power in zip(self._ports, self._power, strict=True)
        }

    def _system(self, heat: Heat) -> System:
        assert heat.capacity is not None  # checked by the constructor
        theta = heat.theta_0 if heat.theta is None else heat.theta
        boxes: dict[str, System | Component] = {"env": Environment(heat.theta_0)}
        junctions: dict[str, tuple[str, ...]] = {"environment": ("env.s",)}
        for port in self._ports:
            boxes[port] = HeatCapacity(heat.capacity, theta)
            junctions[f"{port}_s"] = (f"{port}.s", port)
            if heat.conductance:
                boxes[f"{port}_out"] = Conduction(heat.conductance)
                junctions[f"{port}_s"] += (f"{port}_out.a",)
                junctions["environment"] += (f"{port}_out.b",)
        return compose(boxes, junctions, self._ports)
