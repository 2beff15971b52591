# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Projection on conserved momentum and energy after a step that preserves them approximately."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..energy.audit import PowerQuadrature
from ..evaluation import Evaluation
from .centroidal import Centroidal, CentroidalState
from .stepper import StepFailure

# A step is accepted if its energy error is below this fraction of the energy of the shape: a larger
# error is that of a step that is too long, which a projection must not hide.
_MAX_ERROR = 0.01

# Energy differences below this fraction of the energies are rounding: a few units in the last
# place, as in sums over a few tens of terms.
_ROUNDING = 8 * np.finfo(float).eps

# A shape at rest cannot take up energy. The difference is then kept in the solver state for a later
# step, up to this fraction of the energies, those that crossed the ports in the step among them:
# where a base comes to rest and its shape stands still, what remains of its energy is no measure of
# the truncation of the steps that took the rest of it away.
_MAX_DEFERRED = 1e-7
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
    robot: Centroidal,
    q: Array,
    v: Array,
    conserved: CentroidalState,
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
        conserved: gives the angular momentum and the energy.
        dt: the step, s: the time scale at which a shape counts as standing still.
        port_energies: that crossed the ports in the step.

    Raises:
        StepFailure: there is no such motion nearby.
    """
    angular, energy = conserved.angular, conserved.energy.value
    potential = robot.potential(q)
    if robot.k == 0:
        shape_energy, base_energy = robot.energy(q, v) - potential, 0.0
    else:
        locked_robot = robot.locked(q, v)
        v_hat_initial = locked_robot.inverse.dot(locked_robot.momentum)
        shape_energy = locked_robot.kinetic_energy - 0.5 * locked_robot.momentum.dot(v_hat_initial)
        momentum = robot.move_centre_to_origin(q, locked_robot, angular)
        v_hat = locked_robot.inverse[:, robot.k :].dot(momentum)
        base_energy = 0.5 * momentum.dot(v_hat[robot.k :])
    target_energy = energy - potential - base_energy
    error, dropped_energy = target_energy - shape_energy, 0.0
    if abs(error) <= _MAX_ERROR * shape_energy and shape_energy > 0.0:
        scale = sqrt(target_energy / shape_energy)
    elif abs(error) <= _rounding(robot, conserved, abs(potential) + base_energy + shape_energy, dt):
        scale = 1.0
        dropped_energy = error if abs(error) <= _rest_energy(robot, dt) else 0.0
    else:
        # Across the ports; a held robot also gains and loses energy against the falling frame.
        exchanged = sum(map(abs, port_energies.supplied.values())) + abs(port_energies.dissipated)
        return _descend(robot, q, v, conserved, dt, exchanged + _fall_energy(robot, dt))
    v = scale * v
    if robot.k:
        v[: robot.model.b] += v_hat - scale * v_hat_initial
    return ProjectedMotion(q, v, dropped_energy)


def _rounding(robot: Centroidal, conserved: CentroidalState, energy_sum: float, dt: float) -> float:
    """Return the rounding error of an energy with terms of a given sum, J."""
    velocity = conserved.fall.velocity_at(conserved.t)
    scale = energy_sum + abs(conserved.energy.value) + robot.mass * float(velocity @ velocity)
    return _ROUNDING * scale + _rest_energy(robot, dt)


def _rest_energy(robot: Centroidal, dt: float) -> float:
    """Return the energy below which a robot rests, J.

    In the frame of the falling centre of mass a robot that is held reaches the speed ``|g| dt``
    within a step, whose energy is rounded too.
    """
    return 0.5 * robot.mass * _REST_SPEED**2 + 2.0 * _ROUNDING * _fall_energy(robot, dt)


def _fall_energy(robot: Centroidal, dt: float) -> float:
    """Return the kinetic energy of a robot that falls from rest for a step, J."""
    return 0.5 * robot.mass * dt * dt * float(robot.fall_acceleration @ robot.fall_acceleration)


def _descend(
    robot: Centroidal, q: Array, v: Array, conserved: CentroidalState, dt: float, exchanged: float
) -> ProjectedMotion:
    """Move along the gradient of the energy, in shape and shape velocity, to the given energy."""
    b, angular, energy = robot.model.b, conserved.angular, conserved.energy.value
    q_initial, joint_rates = q, v[b:]
    d = Evaluation(robot.model, q, v)
    motion = np.zeros(robot.model.nv)
    if b:
        locked = robot.locked(q, v)
        motion[:b] = locked.inverse[:, robot.k :] @ robot.move_centre_to_origin(q, locked, angular)
    # The slope of potential and locked energy along the shape at constant momentum.
    energy_slope = -(Evaluation(robot.model, q, motion).C.T @ motion)[b:]
    if robot.has_potential:
        energy_slope = energy_slope + robot.weight(q)[b:]
    direction = np.zeros(robot.model.nv)
    direction[b:] = dt**2 * np.linalg.solve(d.M_hat_m, energy_slope)
    twice_kinetic = float(joint_rates @ d.M_hat_m @ joint_rates)
    directional_slope = twice_kinetic + float(energy_slope @ direction[b:])
    step, energy_error, scale = 0.0, 0.0, 1.0
    for count in range(_MAX_ITERATIONS):
        q = robot.model.integrate(q_initial, step * direction)
        v = np.concatenate([np.zeros(b), (1.0 + step) * joint_rates])
        if b:
            locked = robot.locked(q, v)
            v_hat = locked.inverse[:, robot.k :] @ robot.move_centre_to_origin(q, locked, angular)
            v[:b] = v_hat - locked.inverse @ locked.momentum
        current_energy = robot.energy(q, v)
        energy_error, scale = energy - current_energy, abs(energy) + abs(current_energy)
        is_too_large = count == 0 and abs(energy_error) > _MAX_ERROR * directional_slope
        if abs(energy_error) <= _ROUNDING * scale or is_too_large:
            break
        step += energy_error / directional_slope
    centre_velocity = conserved.fall.velocity_at(conserved.t)
    scale += 0.5 * robot.mass * float(centre_velocity @ centre_velocity) + exchanged
    if abs(energy_error) > _MAX_DEFERRED * scale + _rest_energy(robot, dt):
        raise StepFailure(
            f"the energy is off by {energy_error:.3g} J after the step, too much for the "
            f"{0.5 * directional_slope:.3g} J of the shape: the step is too long for the motion"
        )
    return ProjectedMotion(q, v)
