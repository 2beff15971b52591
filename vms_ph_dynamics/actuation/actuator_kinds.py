# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The actuators of a base: rotors, thrusters, wheels, powered casters and reaction wheels."""

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array


@dataclass(frozen=True)
class Motor:
    """The electric motor of an actuator.

    Attributes:
        torque_constant: torque per current at the shaft of the actuator, N m/A; 0 for a motor
            without losses of its own.
        resistance: of its winding, ohm.
    """

    torque_constant: float = 0.0
    resistance: float = 0.0


@dataclass(frozen=True)
class Tilt:
    """The tilting of a rotor about an axis through its hub, by a drive without losses.

    Attributes:
        axis: (3,) in the base frame, perpendicular to the thrust at angle zero.
        lower, upper: limits of the angle, rad, within half a turn of each other.
        rate: largest rate of the angle, rad/s.
    """

    axis: Array
    lower: float
    upper: float
    rate: float = np.inf


@dataclass(frozen=True)
class Rotor:
    """A rotor or thruster on the base.

    Its thrust is ``thrust_constant w |w|`` at the rate w of its shaft, which follows the commanded
    one with a first-order lag.

    Attributes:
        position: (3,) of its hub in the base frame, m.
        axis: (3,) direction of its thrust in the base frame; scaled to length one.
        drag_ratio: reaction torque about the axis over thrust, m; its sign is that of the torque on
            the base (positive for a rotor that spins against the axis); 0 for a thruster.
        lower, upper: limits of the thrust, N.
        thrust_constant: thrust over the square of the rate, N s^2/rad^2; 0 where no rate is known.
        loss_ratio: torque that the fluid takes from the shaft over thrust, m; None for the
            magnitude of ``drag_ratio``, as for a single propeller.
        time_constant: of the lag, s; 0 for none.
        dead_zone: magnitude of a commanded thrust below which there is none, N.
        inertia: of what spins, about its axis, kg m^2.
        tilt: of its axis; None for a fixed one.
        motor: that drives it.
    """

    position: Array
    axis: Array
    drag_ratio: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    thrust_constant: float = 0.0
    loss_ratio: float | None = None
    time_constant: float = 0.0
    dead_zone: float = 0.0
    inertia: float = 0.0
    tilt: Tilt | None = None
    motor: Motor = field(default_factory=Motor)


@dataclass(frozen=True)
class Wheel:
    """A driven wheel that rolls without slip: omnidirectional, or mecanum by its roller angle.

    Attributes:
        position: (2,) of its contact in the base frame, m.
        heading: direction of travel at positive torque, rad from the x axis of the base.
        radius: m.
        roller_angle: of the axis of the roller on the ground, from the direction of travel, rad; 0
            for an omnidirectional wheel, plus or minus pi/4 for a mecanum wheel.
        largest_torque: N m.
        largest_rate: rate beyond which the motor drives no further, rad/s.
        friction: viscous, of bearings and rolling, N m s/rad.
        motor: that drives it.
    """

    position: Array
    heading: float
    radius: float
    roller_angle: float = 0.0
    largest_torque: float = np.inf
    largest_rate: float = np.inf
    friction: float = 0.0
    motor: Motor = field(default_factory=Motor)


@dataclass(frozen=True)
class Caster:
    """A powered caster: a wheel that trails its steering axis, with motors for both.

    The steering angle is that of the direction of travel from the x axis of the base; both its rate
    and that of the wheel follow from the motion of the base.

    Attributes:
        position: (2,) of the steering axis in the base frame, m.
        radius: of the wheel, m.
        trail: by which the contact lies behind the steering axis, m.
        angle: of steering at the start, rad.
        largest_torque: of the wheel, N m.
        largest_steering_torque: N m.
        friction: viscous, of the wheel, N m s/rad.
        motor: of each of the two.
    """

    position: Array
    radius: float
    trail: float
    angle: float = 0.0
    largest_torque: float = np.inf
    largest_steering_torque: float = np.inf
    friction: float = 0.0
    motor: Motor = field(default_factory=Motor)


@dataclass(frozen=True)
class ReactionWheel:
    """A wheel inside the base, whose momentum turns the base by reaction.

    The inertia of the base is that without the wheel's inertia about its own axis: the wheel stores
    its momentum about that axis itself, at the spin in space.

    Attributes:
        axis: (3,) in the base frame; scaled to length one.
        inertia: about its axis, kg m^2.
        largest_torque: N m.
        largest_rate: largest spin in space, rad/s.
        rate: spin at the start, rad/s.
        friction: viscous, of the bearing, N m s/rad.
        motor: that drives it.
    """

    axis: Array
    inertia: float
    largest_torque: float = np.inf
    largest_rate: float = np.inf
    rate: float = 0.0
    friction: float = 0.0
    motor: Motor = field(default_factory=Motor)


Actuator = Rotor | Wheel | Caster | ReactionWheel
