# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joint friction that is too stiff for a scheme, and joint stops: torques held over each step."""

from typing import TypeAlias

import numpy as np
from numpy.linalg import eigvals, solve

from ..actuation.friction import Friction
from ..arrays import Array
from ..forms import Form, PHState, Ports
from ..integrators import IntegrationError
from ..nonholonomic import NonholonomicForm

SimulatedForm: TypeAlias = Form | NonholonomicForm
"""A robot, or a robot on wheels that do not slip."""

# Above this product of rate and step, friction is held. Explicit schemes of order four are stable
# up to 2.8; half of a step's retries and the growth of the rate with the configuration are left.
_STIFFNESS_LIMIT = 0.5

# Iterations on the secant slope of Coulomb friction, sweeps over the joints for the torques of
# several stops, and the change of speed at which both end, rad/s or m/s.
_MAX_ITERATIONS, _MAX_SWEEPS, _RATE_TOLERANCE = 50, 4000, 1e-12

# Stops are not checked while a joint is farther from them than this, rad or m, beside twice the way
# at its present speed; and the time for which one such look is enough, s, up to 2500 rad/s^2.
_WATCH_DISTANCE, STOP_HORIZON = 0.02, 4e-3


def independent_motion(form: SimulatedForm, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return mass matrix (m,m), basis (nv,m) and velocity (m,) that the constraints leave.

    Without constraints these are the mass matrix, the identity and all velocities.
    """
    if isinstance(form, NonholonomicForm):
        chart = form.chart(q)
        terms = chart.terms(q, v[chart.independent_ids])
        return terms.mass, terms.basis, terms.nu
    return form.model.evaluate(q, v).M, np.eye(form.model.nv), v


def is_too_stiff(form: SimulatedForm, friction: Friction, q: Array, dt: float) -> bool:
    """Return whether friction is too stiff for an explicit integrator with steps of ``dt`` (s).

    It is if the fastest of the rates at which friction stops slow motions, at q (nq,), is.
    """
    model = form.model
    if not (model.joints.damping + model.joints.friction).any():
        return False
    damping = np.zeros(model.nv)
    damping[model.b :] = friction.slope(np.zeros(model.n))
    mass_matrix = model.evaluate(q, np.zeros(model.nv)).M
    return float(eigvals(solve(mass_matrix, np.diag(damping))).real.max()) * dt > _STIFFNESS_LIMIT


def held_friction(
    form: SimulatedForm, friction: Friction, q: Array, v: Array, ports: Ports, dt: float
) -> Array:
    """Return friction torques that are constant over a step, from the velocity at its end, (n,).

    The velocity at the end solves ``M (v_end - v_free) = -dt F(v_end)``, where ``v_free`` is the
    velocity that the step would reach without friction. Friction never turns a joint back in a
    step, and a joint under a load below its Coulomb friction creeps as slowly as the smoothed law
    says, at any stiffness. The error is of first order in the step. The work is the torque times
    the displacement of the joint, so that the energy balance closes to the error of the integrator;
    over a step in which another effort turns a joint back, it may have the other sign.

    Args:
        form: of the robot.
        friction: in its joints.
        q: (nq,) configuration at the start of the step.
        v: (nv,) velocity at its start.
        ports: efforts during the step, without friction.
        dt: the step, s.

    Raises:
        StateError: the state at the end of the step is not finite.
    """
    model = form.model
    if isinstance(form, NonholonomicForm):
        form = form.chart(q)
    x = form.state(q, v)
    end_state = PHState(model.integrate(q, dt * v), x.z + dt * form.rate(x, ports).zdot)
    free_velocity = form.velocity(end_state)
    mass_matrix, basis, velocity = independent_motion(form, end_state.q, free_velocity)
    joint_basis = basis[model.b :]
    momentum = mass_matrix @ velocity
    # The secant slope F(v) / v of friction falls with the speed: each iteration solves a linear
    # friction above the true one, decreases the same convex function, and cannot overshoot.
    joint_rates = free_velocity[model.b :]
    for _ in range(_MAX_ITERATIONS):
        secant = friction.secant(joint_rates)
        damped_inertia = mass_matrix + (joint_basis.T * (dt * secant)) @ joint_basis
        new_rates = joint_basis @ solve(damped_inertia, momentum)
        change, joint_rates = np.abs(new_rates - joint_rates).max(), new_rates
        if change < _RATE_TOLERANCE:
            break
    return -secant * joint_rates


class JointStops:
    """Torques of the stops of joints that reach their limits.

    A stop only pushes, and only as much as a joint needs to end each step where it can still come
    to rest before the limit in the next: ``d >= dt |v| / 2`` for the distance d and a speed v
    towards the stop. The torque is constant over the step. It acts against the motion, so that
    its work, the torque times the displacement, is never positive: stops dissipate, and a joint
    lies on its stop at rest.

    Args:
        form: of the robot.
    """

    def __init__(self, form: SimulatedForm) -> None:
        self._form, joints = form, form.model.joints
        self._lower, self._upper = joints.lower, joints.upper
        self.has_limits = bool(np.isfinite(np.concatenate([self._lower, self._upper])).any())

    def is_near(self, q: Array, v: Array, duration: float) -> bool:
        """Return whether a joint may reach a stop within ``duration`` (s)."""
        below, above, rates = *self._distances(q), np.abs(v[self._form.model.b :])
        return bool((np.minimum(below, above) < _WATCH_DISTANCE + 2.0 * duration * rates).any())

    def lacks_braking_distance(self, q: Array, v: Array, dt: float) -> bool:
        """Return whether a joint can no longer come to rest before its stop within a step."""
        below, above, half_step = *self._distances(q), 0.5 * dt * v[self._form.model.b :]
        remaining_distances = below + np.minimum(half_step, 0.0), above - np.maximum(half_step, 0.0)
        return bool((np.array(remaining_distances) < 0.0).any())

    def torque(self, start: tuple[Array, Array], free_end: tuple[Array, Array], dt: float) -> Array:
        """Return the torques of the stops for a step, (n,), N m or N.

        Args:
            start: q (nq,) and v (nv,) at its start.
            free_end: q and v at its end without stops.
            dt: the step, s.
        """
        model, zero_velocity = self._form.model, np.zeros(self._form.model.nv)
        mass_matrix, basis, _ = independent_motion(self._form, free_end[0], zero_velocity)
        joint_basis = basis[model.b :]
        mobility = joint_basis @ np.linalg.inv(mass_matrix) @ joint_basis.T
        (below, above), half_rates = self._distances(start[0]), 0.5 * start[1][model.b :]
        lower_rates = np.minimum(0.0, -below / dt - half_rates)
        upper_rates = np.maximum(0.0, above / dt - half_rates)
        return stop_impulses(mobility, free_end[1][model.b :], lower_rates, upper_rates) / dt

    def _distances(self, q: Array) -> tuple[Array, Array]:
        """Return the distances from the lower and from the upper limits, (n,) each."""
        positions = self._form.model.joint_positions(q)
        return positions - self._lower, self._upper - positions


def stop_impulses(mobility: Array, free_rates: Array, lower: Array, upper: Array) -> Array:
    """Return the impulses that keep joint rates within bounds, (n,), N m s or N s.

    They solve ``v = free + mobility impulse`` with ``lower <= v <= upper``, each impulse zero
    unless its rate is at a bound, and then directed away from it, by projected Gauss-Seidel sweeps.

    Args:
        mobility: (n,n) change of the rates per impulse.
        free_rates: (n,) rates without impulses.
        lower: (n,) lowest rates, minus infinity for none.
        upper: (n,) highest rates, infinity for none.

    Raises:
        IntegrationError: the sweeps do not converge.
    """
    impulse, rates = np.zeros(len(free_rates)), free_rates.copy()
    limited_joints = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    for _ in range(_MAX_SWEEPS):
        largest_change = 0.0
        for i in limited_joints:
            free_rate = rates[i] - mobility[i, i] * impulse[i]
            impulse_sum = (min(max(free_rate, lower[i]), upper[i]) - free_rate) / mobility[i, i]
            increment = impulse_sum - impulse[i]
            if increment != 0.0:
                impulse[i] = impulse_sum
                rates += mobility[:, i] * increment
                largest_change = max(largest_change, abs(mobility[i, i] * increment))
        if largest_change <= _RATE_TOLERANCE * max(1.0, np.abs(free_rates).max()):
            return impulse
    raise IntegrationError(
        f"impulses of the joint stops still change a rate by {largest_change:.2g} rad/s or m/s "
        f"after {_MAX_SWEEPS} sweeps; a shorter step or less different inertias may help"
    )
