# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction that is too stiff for an explicit integrator, held over each step."""

import numpy as np
from numpy.linalg import eigvals, solve

from ..actuation.friction import Friction
from ..arrays import Array
from ..forms import PHState, Ports
from .reduced import SimulatedForm, reduced

# Above this product of rate and step, friction is held. Explicit schemes of order four are stable
# up to 2.8; half of a step's retries and the growth of the rate with the configuration are left.
_STIFF = 0.5

# Iterations on the secant slope of Coulomb friction, and the change of speed at which they end.
_ITERATIONS, _CONVERGED = 50, 1e-9


def friction_rate(form: SimulatedForm, friction: Friction, q: Array) -> float:
    """Return the fastest rate at which friction stops a motion at rest, 1/s.

    Args:
        form: of the robot.
        friction: in its joints.
        q: (nq,) configuration.
    """
    model = form.model
    if not model.n:
        return 0.0
    slope = np.zeros(model.nv)
    slope[model.b :] = friction.slope(np.zeros(model.n))
    inertia = model.evaluate(q, np.zeros(model.nv)).M
    return float(eigvals(solve(inertia, np.diag(slope))).real.max())


def must_be_held(form: SimulatedForm, friction: Friction, q: Array, dt: float) -> bool:
    """Return whether friction is too stiff for an explicit integrator with steps of ``dt`` (s)."""
    return bool((form.model.joints.damping + form.model.joints.friction).any()) and (
        friction_rate(form, friction, q) * dt > _STIFF
    )


class HeldFriction:
    """Friction torques that are constant over a step, from the velocity at its end.

    The velocity at the end solves ``M (v_end - v_free) = -dt F(v_end)``, where ``v_free`` is the
    velocity that the step would reach without friction. Friction never turns a joint back in a
    step, and a joint under a load below its Coulomb friction creeps as slowly as the smoothed law
    says, at any stiffness. The error is of first order in the step. The work is the torque times
    the displacement of the joint, so that the energy balance closes to the error of the integrator;
    over a step in which another effort turns a joint back, it may have the other sign.

    Args:
        form: of the robot.
        friction: in its joints.
    """

    def __init__(self, form: SimulatedForm, friction: Friction) -> None:
        self._form, self._friction = form, friction

    def torque(self, q: Array, v: Array, ports: Ports, dt: float) -> Array:
        """Return the torques of friction for a step, (n,), N m or N.

        Args:
            q: (nq,) configuration at its start.
            v: (nv,) velocity at its start.
            ports: efforts during the step, without friction.
            dt: the step, s.

        Raises:
            StateError: the state at the end of the step is not finite.
        """
        form, model = self._form, self._form.model
        x = form.state(q, v)
        rate = form.rate(x, ports)
        at_end = PHState(model.integrate(q, dt * v), x.z + dt * rate.zdot)
        free = form.velocity(at_end)
        inertia, joints, velocity = reduced(form, at_end.q, free)
        momentum = inertia @ velocity
        # The secant slope F(v) / v of friction falls with the speed: each iteration solves a linear
        # friction above the true one, decreases the same convex function, and cannot overshoot.
        speed = free[model.b :]
        for _ in range(_ITERATIONS):
            slope = self._secant(speed)
            damped = inertia + (joints.T * (dt * slope)) @ joints
            reached = joints @ solve(damped, momentum)
            change, speed = np.abs(reached - speed).max(), reached
            if change < _CONVERGED:
                break
        return -slope * speed

    def _secant(self, speed: Array) -> Array:
        """Return F(v) / v for each joint, (n,)."""
        scaled = np.abs(speed) / self._friction.slip
        # tanh(x) / x, which is 1 - x^2 / 3 near zero: 1 to rounding below 1e-8.
        ratio = np.where(scaled > 1e-8, np.tanh(scaled) / np.maximum(scaled, 1e-8), 1.0)
        return self._friction.viscous + self._friction.coulomb / self._friction.slip * ratio
