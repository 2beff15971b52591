# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A leg with a control law on a floor: its rates and the power through every port."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array

from .leg import Floor, FloorForce, Leg, LegState, Phase


@dataclass(frozen=True, slots=True)
class LegEfforts:
    """The efforts of a control law at an instant.

    Attributes:
        force: (nv,) generalised force: a wrench on the base in base axes, then joint torques,
            N and N m.
        powers: of the parts of the law, W, in the order of its ``channels``.
        stored: energy in the law's virtual springs, J.
    """

    force: Array
    powers: tuple[float, ...]
    stored: float


@dataclass(frozen=True)
class LegLaw:
    """A control law in continuous time.

    Attributes:
        efforts: as a function of the leg and of whether it is in stance.
        channels: names of the powers of the efforts.
    """

    efforts: Callable[[LegState, bool], LegEfforts]
    channels: tuple[str, ...] = ()


CHANNELS = ("external", "joint", "floor", "floor_dissipated", "push")
"""The powers that every run integrates: of the base wrench, the joint torques and the floor into
the robot, the power dissipated by the floor, and that of further forces on the foot."""


@dataclass(frozen=True, slots=True)
class Push:
    """An external wrench on the foot, held constant.

    Attributes:
        wrench: (3,) force and moment, N and N m.
        in_foot_axes: whether the force is in the axes of the foot's frame instead of the inertial
            ones.
    """

    wrench: Array
    in_foot_axes: bool = False

    def at(self, leg: LegState) -> Array:
        """Return force and moment in the inertial frame, (3,)."""
        if not self.in_foot_axes:
            return self.wrench
        return np.append(leg.foot_axes @ self.wrench[:2], self.wrench[2])


class LegOnFloor:
    """The closed system with the state ``(x, y, theta, joints, v, s)``, (2 nv + 1,).

    s is the tangential deflection of the floor. Within a phase the motion is smooth, except at a
    change between sticking and slipping.

    Attributes:
        channels: names of the powers, those of :data:`CHANNELS` first.
        push: an external wrench on the foot; may be changed between steps.

    Args:
        leg: the robot.
        law: of its control.
        floor: that it stands on.
    """

    def __init__(self, leg: Leg, law: LegLaw, floor: Floor) -> None:
        self.leg, self.law, self.floor = leg, law, floor
        self.nv = leg.model.nv
        self.channels = (*CHANNELS, *law.channels)
        self.push: Push | None = None

    def state(self, q: Array, v: Array) -> Array:
        """Return the state of a configuration and velocity, with the floor undeflected."""
        return np.concatenate([self.leg.coordinates(q), v, [0.0]])

    def leg_state(self, y: Array) -> LegState:
        """Return the leg at a state."""
        nv = self.nv
        return self.leg.at(self.leg.configuration(y[:nv]), y[nv : 2 * nv])

    def foot_height(self, y: Array) -> tuple[float, float]:
        """Return the height of the foot, m, and its rate, m/s."""
        height, height_rate, _ = self._foot_motion(y)
        return height, height_rate

    def floor_force(self, phase: Phase, leg: LegState, y: Array) -> FloorForce:
        """Return the force of the floor at a state."""
        height, rate = float(leg.foot[1]), float(leg.foot_rate[1])
        return self.floor.force(phase, height, rate, float(y[-1]), float(leg.foot_rate[0]))

    def pressure_depth(self, y: Array) -> float:
        """Return the pressure on the floor divided by its normal stiffness, m."""
        return self.floor.pressure(*self.foot_height(y)) / self.floor.stiffness[1]

    def contact_phase(self, y: Array) -> Phase:
        """Return whether a foot that presses sticks or slides."""
        return self.floor.contact_phase(*self._contact_motion(y))

    def sliding_phase(self, y: Array) -> Phase:
        """Return the direction in which a foot at the edge of the cone slides."""
        _, _, deflection, v_x = self._contact_motion(y)
        tangential = -self.floor.stiffness[0] * deflection - self.floor.damping[0] * v_x
        return Phase.SLIDES_BACK if tangential > 0.0 else Phase.SLIDES_FORWARD

    def cone_margin(self, y: Array, sign: float) -> float:
        """Return the margin to the friction cone of a sticking foot, divided by the stiffness, m.

        Args:
            y: the state.
            sign: of the force, 1 or -1; 0 for either.
        """
        height, rate, deflection, v_x = self._contact_motion(y)
        floor = self.floor
        assert floor.friction is not None
        tangential = -floor.stiffness[0] * deflection - floor.damping[0] * v_x
        tangential = sign * tangential if sign else abs(tangential)
        return (floor.friction * floor.pressure(height, rate) - tangential) / floor.stiffness[1]

    def _contact_motion(self, y: Array) -> tuple[float, float, float, float]:
        height, height_rate, v_x = self._foot_motion(y)
        return height, height_rate, float(y[-1]), v_x

    def _foot_motion(self, y: Array) -> tuple[float, float, float]:
        nv = self.nv
        return self.leg.foot_motion(self.leg.configuration(y[:nv]), y[nv : 2 * nv])

    def rate(self, phase: Phase, y: Array) -> Array:
        """Return the derivative of the state, (2 nv + 1,)."""
        nv, leg = self.nv, self.leg_state(y)
        force = self.law.efforts(leg, phase is not Phase.FLIGHT).force - leg.bias
        if self.push is not None:
            force = force + self.push.at(leg) @ leg.J_foot
        deflection_rate = 0.0
        if phase is not Phase.FLIGHT:
            reaction = self.floor_force(phase, leg, y)
            force = force + reaction.tangential * leg.J_foot[0] + reaction.normal * leg.J_foot[1]
            deflection_rate = reaction.deflection_rate
        pose_rate = self.leg.coordinate_rates(y[:nv], y[nv : 2 * nv])
        return np.concatenate([pose_rate, np.linalg.solve(leg.M, force), [deflection_rate]])

    def powers(self, phase: Phase, y: Array) -> Array:
        """Return the power through every channel, W."""
        leg = self.leg_state(y)
        efforts = self.law.efforts(leg, phase is not Phase.FLIGHT)
        reaction = self.floor_force(phase, leg, y)
        return np.array(
            [
                efforts.force[:3] @ leg.v[:3],
                efforts.force[3:] @ leg.v[3:],
                reaction.tangential * leg.foot_rate[0] + reaction.normal * leg.foot_rate[1],
                reaction.dissipated_power,
                0.0 if self.push is None else self.push.at(leg) @ (leg.J_foot @ leg.v),
                *efforts.powers,
            ]
        )
