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
_TRUSTED = 0.01

# Energy differences below this fraction of the energies are rounding: a few units in the last
# place, as in sums over a few tens of terms.
_ROUNDING = 8 * np.finfo(float).eps

# A shape at rest cannot take up energy. The difference is then kept in the solver state for a later
# step, up to this fraction of the energies, those that crossed the ports in the step among them:
# where a base comes to rest and its shape stands still, what remains of its energy is no measure of
# the truncation of the steps that took the rest of it away.
_WAITING = 1e-7
_ITERATIONS = 8

# Speeds below this, m/s, count as rest. Forces in equilibrium leave a rounding error of the energy
# in every step, always of the same sign; it is dropped so that it does not accumulate.
_REST = 1e-9


class Projected(NamedTuple):
    """A motion with the prescribed momentum and energy.

    Attributes:
        q: (nq,); v: (nv,).
        dropped: rounding of the energy that is dropped from the solver state, J.
    """

    q: Array
    v: Array
    dropped: float = 0.0


def project(
    robot: Centroidal,
    q: Array,
    v: Array,
    advanced: CentroidalState,
    dt: float,
    crossed: PowerQuadrature,
) -> Projected:
    """Return a motion near (q, v) with given angular momentum and energy.

    In the inertially decoupled form the kinetic energy is the sum of that of the locked motion,
    which the momentum fixes, and that of the shape [A (60)]: so the locked velocity is set from the
    momentum and the shape velocity scaled to the remaining energy. If the shape is nearly at rest,
    its position is changed too.

    Args:
        robot: whose motion it is, in the frame of its centre of mass.
        q: (nq,) configuration; its base position is set in place.
        v: (nv,) velocity.
        advanced: gives the angular momentum and the energy.
        dt: the step, s: the time scale at which a shape counts as standing still.
        crossed: the energies that crossed the ports in the step.

    Raises:
        StepFailure: there is no such motion nearby.
    """
    angular, energy = advanced.angular, advanced.energy.value
    potential = robot.potential(q)
    if robot.k == 0:
        shape, base = robot.energy(q, v) - potential, 0.0
    else:
        locked = robot.locked(q, v)
        v_hat_now = locked.inverse.dot(locked.momentum)
        shape = locked.kinetic - 0.5 * locked.momentum.dot(v_hat_now)
        momentum = robot.settle(q, locked, angular)
        v_hat = locked.inverse[:, robot.k :].dot(momentum)
        base = 0.5 * momentum.dot(v_hat[robot.k :])
    target = energy - potential - base
    gap, dropped = target - shape, 0.0
    if abs(gap) <= _TRUSTED * shape and shape > 0.0:
        scale = sqrt(target / shape)
    elif abs(gap) <= _rounding(robot, advanced, abs(potential) + base + shape, dt):
        scale = 1.0
        dropped = gap if abs(gap) <= _at_rest(robot, dt) else 0.0
    else:
        return _turn(robot, q, v, advanced, dt, _exchanged(robot, crossed, dt))
    v = scale * v
    if robot.k:
        v[: robot.model.b] += v_hat - scale * v_hat_now
    return Projected(q, v, dropped)


def _rounding(robot: Centroidal, advanced: CentroidalState, terms: float, dt: float) -> float:
    """Return the rounding error of an energy with terms of a given sum, J."""
    speed = advanced.fall.velocity_at(advanced.t)
    size = terms + abs(advanced.energy.value) + robot.mass * float(speed @ speed)
    return _ROUNDING * size + _at_rest(robot, dt)


def _at_rest(robot: Centroidal, dt: float) -> float:
    """Return the energy below which a robot rests, J.

    In the frame of the falling centre of mass a robot that is held reaches the speed ``|g| dt``
    within a step, whose energy is rounded too.
    """
    return 0.5 * robot.mass * _REST**2 + 2.0 * _ROUNDING * _gained(robot, dt)


def _gained(robot: Centroidal, dt: float) -> float:
    """Return the kinetic energy of a robot that falls from rest for a step, J."""
    return 0.5 * robot.mass * dt * dt * float(robot.fall @ robot.fall)


def _exchanged(robot: Centroidal, crossed: PowerQuadrature, dt: float) -> float:
    """Return the sum of the energies that a step exchanges, J.

    They are those that crossed the ports, and in the frame of the falling centre of mass that which
    a held robot gains and loses again.
    """
    through = sum(map(abs, crossed.supplied.values())) + abs(crossed.dissipated)
    return through + _gained(robot, dt)


def _turn(
    robot: Centroidal, q: Array, v: Array, advanced: CentroidalState, dt: float, exchanged: float
) -> Projected:
    """Move along the gradient of the energy, in shape and shape velocity, to the given energy."""
    b, angular, energy = robot.model.b, advanced.angular, advanced.energy.value
    start, rates = q, v[b:]
    d = Evaluation(robot.model, q, v)
    motion = np.zeros(robot.model.nv)
    if b:
        locked = robot.locked(q, v)
        motion[:b] = locked.inverse[:, robot.k :] @ robot.settle(q, locked, angular)
    # The slope of potential and locked energy along the shape at constant momentum.
    slope = -(Evaluation(robot.model, q, motion).C.T @ motion)[b:]
    if robot.has_potential:
        slope = slope + robot.weight(q)[b:]
    along = np.zeros(robot.model.nv)
    along[b:] = dt**2 * np.linalg.solve(d.M_hat_m, slope)
    speed = float(rates @ d.M_hat_m @ rates)
    steepness = speed + float(slope @ along[b:])
    step, gap, scale = 0.0, 0.0, 1.0
    for count in range(_ITERATIONS):
        q = robot.model.integrate(start, step * along)
        v = np.concatenate([np.zeros(b), (1.0 + step) * rates])
        if b:
            locked = robot.locked(q, v)
            target = locked.inverse[:, robot.k :] @ robot.settle(q, locked, angular)
            v[:b] = target - locked.inverse @ locked.momentum
        present = robot.energy(q, v)
        gap, scale = energy - present, abs(energy) + abs(present)
        too_much = count == 0 and abs(gap) > _TRUSTED * steepness
        if abs(gap) <= _ROUNDING * scale or too_much:
            break
        step += gap / steepness
    falling = advanced.fall.velocity_at(advanced.t)
    scale += 0.5 * robot.mass * float(falling @ falling) + exchanged
    if abs(gap) > _WAITING * scale + _at_rest(robot, dt):
        raise StepFailure(
            f"the energy is off by {gap:.3g} J after the step, too much for the "
            f"{0.5 * steepness:.3g} J of the shape: the step is too long for the motion"
        )
    return Projected(q, v)
