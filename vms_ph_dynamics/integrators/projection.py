# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Projection on conserved momentum and energy after a step that preserves them approximately."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..energy.audit import PowerQuadrature
from ..evaluation import Evaluation
from .centroidal import CentroidalRobot, CentroidalState, LockedRobot
from .stepper import StepFailure

# A step is accepted if its energy error is below this fraction of the energy of the shape: a larger
# error is that of a step that is too long, which a projection must not hide.
_MAX_RELATIVE_GAP = 0.01

# Energy differences below this fraction of the energies are rounding: a few units in the last
# place, as in sums over a few tens of terms.
_ROUNDING = 8 * np.finfo(float).eps

# A shape at rest cannot take up energy. The difference is then kept in the solver state for a later
# step, up to this fraction of the energies, those that crossed the ports in the step among them:
# where a base has come to rest, the truncation errors of its last steps are large beside the energy
# that is left.
_MAX_DEFERRED_ENERGY_SHARE = 1e-7
_MAX_ITERATIONS = 8

# Speeds below this, m/s, count as rest. Forces in equilibrium leave a rounding error of the energy
# in every step, always of the same sign; it is dropped so that it does not accumulate.
_REST_SPEED = 1e-9


class ProjectedMotion(NamedTuple):
    """A motion with the prescribed momentum and energy.

    Attributes:
        q: (nq,); v: (nv,).
        dropped_energy: rounding of the energy that is dropped from the solver state, J.
    """

    q: Array
    v: Array
    dropped_energy: float = 0.0


def project(
    robot: CentroidalRobot,
    q: Array,
    v: Array,
    target: CentroidalState,
    dt: float,
    port_energies: PowerQuadrature,
) -> ProjectedMotion:
    """Return a motion near (q, v) with given angular momentum and energy.

    In the inertially decoupled form the kinetic energy is the sum of that of the locked motion,
    which the momentum fixes, and that of the shape [A (60)]: so the locked velocity is set from the
    momentum and the shape velocity scaled to the remaining energy. If the shape is nearly at rest,
    its position is changed too.

    Args:
        robot: whose motion it is, in the frame of its centre of mass.
        q: (nq,) configuration; its base position is set in place.
        v: (nv,) velocity.
        target: state whose angular momentum and energy the motion must have.
        dt: the step, s: the time scale at which a shape counts as standing still.
        port_energies: energies that crossed the ports in the step.

    Raises:
        StepFailure: there is no such motion nearby.
    """
    k, angular_momentum, energy = robot.centre_dim, target.angular, target.energy.value
    potential_energy = robot.potential(q)
    if k == 0:
        shape_energy, locked_energy = robot.energy(q, v) - potential_energy, 0.0
    else:
        locked_robot = robot.locked(q, v)
        current_v_hat = locked_robot.inverse_inertia.dot(locked_robot.momentum)
        shape_energy = locked_robot.kinetic_energy - 0.5 * locked_robot.momentum.dot(current_v_hat)
        momentum = robot.move_centre_to_origin(q, locked_robot, angular_momentum)
        target_v_hat = locked_robot.inverse_inertia[:, k:].dot(momentum)
        locked_energy = 0.5 * momentum.dot(target_v_hat[k:])
    target_energy = energy - potential_energy - locked_energy
    energy_gap, dropped_energy = target_energy - shape_energy, 0.0
    energy_sum = abs(potential_energy) + locked_energy + shape_energy
    if abs(energy_gap) <= _MAX_RELATIVE_GAP * shape_energy and shape_energy > 0.0:
        speed_scale = sqrt(target_energy / shape_energy)
    elif abs(energy_gap) <= _tolerance(robot, target, energy_sum, dt):
        speed_scale = 1.0
        dropped_energy = energy_gap if abs(energy_gap) <= _rest_threshold(robot, dt) else 0.0
    else:
        # Across the ports; a held robot also gains and loses energy against the falling frame.
        exchange = sum(map(abs, port_energies.supplied.values())) + abs(port_energies.dissipated)
        return _correct_along_gradient(robot, q, v, target, dt, exchange + _fall_energy(robot, dt))
    v = speed_scale * v
    if k:
        v[: robot.model.b] += target_v_hat - speed_scale * current_v_hat
    return ProjectedMotion(q, v, dropped_energy)


def _tolerance(robot: CentroidalRobot, target: CentroidalState, total: float, dt: float) -> float:
    """Return the rounding error of an energy whose terms add up to ``total``, J."""
    velocity = target.fall.velocity_at(target.t)
    scale = total + abs(target.energy.value) + robot.mass * float(velocity @ velocity)
    return _ROUNDING * scale + _rest_threshold(robot, dt)


def _rest_threshold(robot: CentroidalRobot, dt: float) -> float:
    """Return the energy below which a robot rests, J.

    In the frame of the falling centre of mass a robot that is held reaches the speed ``|g| dt``
    within a step, whose energy is rounded too.
    """
    return 0.5 * robot.mass * _REST_SPEED**2 + 2.0 * _ROUNDING * _fall_energy(robot, dt)


def _fall_energy(robot: CentroidalRobot, dt: float) -> float:
    """Return the kinetic energy of a robot that falls from rest for a step, J."""
    return 0.5 * robot.mass * dt * dt * float(robot.fall_acceleration @ robot.fall_acceleration)


def _correct_along_gradient(
    robot: CentroidalRobot, q: Array, v: Array, target: CentroidalState, dt: float, exchange: float
) -> ProjectedMotion:
    """Move along the gradient of the energy, in shape and shape velocity, to the given energy."""
    b, k, energy = robot.model.b, robot.centre_dim, target.energy.value
    start_q, joint_rates = q, v[b:]

    def locked_robot_at(q: Array, v: Array) -> tuple[LockedRobot, Array]:
        locked_robot = robot.locked(q, v)
        momentum = robot.move_centre_to_origin(q, locked_robot, target.angular)
        return locked_robot, locked_robot.inverse_inertia[:, k:] @ momentum

    d = Evaluation(robot.model, q, v)
    locked_motion = np.zeros(robot.model.nv)
    if b:
        locked_motion[:b] = locked_robot_at(q, v)[1]
    # The slope of potential and locked energy along the shape at constant momentum.
    gradient = -(Evaluation(robot.model, q, locked_motion).C.T @ locked_motion)[b:]
    if robot.has_potential:
        gradient = gradient + robot.weight(q)[b:]
    direction = np.zeros(robot.model.nv)
    direction[b:] = dt**2 * np.linalg.solve(d.M_hat_m, gradient)
    energy_slope = float(joint_rates @ d.M_hat_m @ joint_rates) + float(gradient @ direction[b:])
    step_size, energy_gap, energy_scale = 0.0, 0.0, 1.0
    for iteration in range(_MAX_ITERATIONS):
        q = robot.model.integrate(start_q, step_size * direction)
        v = np.concatenate([np.zeros(b), (1.0 + step_size) * joint_rates])
        if b:
            locked_robot, v_hat = locked_robot_at(q, v)
            v[:b] = v_hat - locked_robot.inverse_inertia @ locked_robot.momentum
        current_energy = robot.energy(q, v)
        energy_gap, energy_scale = energy - current_energy, abs(energy) + abs(current_energy)
        is_too_far = iteration == 0 and abs(energy_gap) > _MAX_RELATIVE_GAP * energy_slope
        if abs(energy_gap) <= _ROUNDING * energy_scale or is_too_far:
            break
        step_size += energy_gap / energy_slope
    centre_velocity = target.fall.velocity_at(target.t)
    energy_scale += 0.5 * robot.mass * float(centre_velocity @ centre_velocity) + exchange
    if abs(energy_gap) > _MAX_DEFERRED_ENERGY_SHARE * energy_scale + _rest_threshold(robot, dt):
        raise StepFailure(
            f"the energy is off by {energy_gap:.3g} J after the step, too much for the "
            f"{0.5 * energy_slope:.3g} J of the shape: the step is too long for the motion"
        )
    return ProjectedMotion(q, v)
