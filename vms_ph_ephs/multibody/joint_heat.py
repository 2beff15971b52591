# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The temperatures of a robot's joints, heated by their friction."""

from collections.abc import Mapping, Sequence

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics import Friction as JointFriction
from vms_ph_dynamics.arrays import vector

from ..errors import StructureError
from .joint import Heat


class JointHeat:
    """Heat capacities of joints with friction, connected to one environment.

    The velocities are measured or simulated elsewhere; here the heat of friction, ``u . mu u``,
    enters each joint and is conducted to the environment. ``c theta_dot = P - h (theta - theta_0)``
    is solved exactly for the mean power of an interval.

    Args:
        names: of the joints.
        friction: of the joints, in the same order.
        heat: of every joint; its capacity must be given.

    Attributes:
        friction_heat: since the start, J.

    Raises:
        StructureError: there is no joint, or a joint has no heat capacity.
    """

    def __init__(self, names: Sequence[str], friction: JointFriction, heat: Heat) -> None:
        if heat.capacity is None or not names:
            raise StructureError("heated joints need names and a heat capacity, J/K")
        self.names, self._friction, self._cooling = tuple(names), friction, heat
        self._capacity = heat.capacity
        self.reset()

    def reset(self) -> None:
        """Return all joints to their initial temperature."""
        theta = self._cooling.theta_0 if self._cooling.theta is None else self._cooling.theta
        self._theta = np.full(len(self.names), theta)
        self.friction_heat = 0.0

    def update(self, before: Array, u_end: Array, dt: float) -> Mapping[str, float]:
        """Advance by an interval and return the temperatures by joint, K.

        The power of friction is averaged by Simpson's rule over linearly changing rates, which is
        exact for viscous friction.

        Args:
            before: (n,) joint rates at the beginning of the interval, rad/s or m/s.
            u_end: (n,) at its end.
            dt: s, above zero.
        """
        u_0 = vector(before, len(self.names), "rates")
        u_1 = vector(u_end, len(self.names), "rates")
        P_0, P_half, P_1 = (-u * self._friction.force(u) for u in (u_0, 0.5 * (u_0 + u_1), u_1))
        mean_power = (P_0 + 4.0 * P_half + P_1) / 6.0
        h, c = self._cooling.conductance, self._capacity
        # (1 - exp(-h dt / c)) / h, which is dt / c without conduction.
        factor = -np.expm1(-h * dt / c) / h if h else dt / c
        self._theta += factor * (mean_power - h * (self._theta - self._cooling.theta_0))
        self.friction_heat += float(mean_power.sum()) * dt
        return dict(zip(self.names, self._theta.tolist(), strict=True))
