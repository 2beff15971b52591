# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The reference governor: it moves the minimum of a potential towards a reference of the task."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from vms_ph_dynamics import Array, Evaluation, PositionTask, VMSModel

from ..controller import Reference, if_finite
from ..potentials.shaped_potential import JointLimitPotential

# Displacements shorter than this, m or rad, count as zero.
_MIN_LENGTH = 1e-9

# Smallest distance between reference and minimum, m, at which the reference is out of reach.
_REACH_TOLERANCE = 1e-3

# Rate at which a minimum that cannot follow returns to its initial posture, 1/s.
_POSTURE_RATE = 1.0


@dataclass(frozen=True, slots=True)
class PotentialMinimum:
    """A minimum of the potential and the task position that it represents.

    Attributes:
        q: (nq,) configuration.
        x: (3,) position, m.
    """

    q: Array
    x: Array


class ReferenceGovernor:
    """Moves the minimum ``q*`` towards a reference ``x*`` with limited speed, within joint limits.

    ``q*`` follows ``x*`` by damped Newton steps on ``f(q*) = x*``; where that has no solution, the
    minimum stays as close as possible.

    Attributes:
        minimum: the present one.
        target: position that the minimum approaches, (3,) m; None while a velocity moves it.
        is_rejected: whether the last reference was unusable: not finite, or not of three entries.
        is_out_of_reach: whether the minimum cannot follow the reference.
    """

    def __init__(self, model: VMSModel, task: PositionTask, damping: float) -> None:
        self._model, self._task, self._damping = model, task, damping
        self._joint_limits = JointLimitPotential(model)
        self.restart(model.neutral_configuration())

    def restart(self, q: Array) -> Evaluation:
        """Set the minimum to a configuration (nq,) at once; return the evaluation there.

        Raises:
            StateError: it is not a configuration of the model.
        """
        d = self._model.evaluate(q, np.zeros(self._model.nv))
        self.minimum = PotentialMinimum(d.q, np.array(self._task.value(d)))
        self.target: Array | None = None
        self.is_rejected = self.is_out_of_reach = False
        self._is_settled = True
        self._initial_posture = self._model.joint_positions(d.q)
        return d

    def propose(
        self, reference: Reference, dt: float, speed: float, margin: float
    ) -> PotentialMinimum:
        """Return the minimum after a time step; it takes effect when it is set as ``minimum``.

        Args:
            reference: what to follow.
            dt: time step, s.
            speed: largest speed of the task position, m/s.
            margin: distance kept from the joint limits, rad or m.
        """
        is_empty = reference.position is None and reference.velocity is None
        if self._is_settled and self.target is None and is_empty:
            self.is_rejected = False
            return self.minimum
        task_step = self._requested_step(reference, dt)
        step_length = sqrt(task_step @ task_step)
        if not dt > 0.0 or (step_length < _MIN_LENGTH and self._is_settled):
            return self.minimum
        max_step = dt * speed
        task_step *= min(1.0, max_step / step_length) if step_length > 0.0 else 0.0
        model, task = self._model, self._task
        at_minimum = Evaluation(model, self.minimum.q, np.zeros(model.nv))
        jacobian = task.jacobian(at_minimum)
        task_position = task.value(at_minimum)
        lead = self.minimum.x + task_step - task_position
        distance = sqrt(lead @ lead)
        self._is_settled = distance < _MIN_LENGTH
        # A reference that the minimum cannot follow is held at this distance ahead of it.
        max_lead = max(_REACH_TOLERANCE, 2.0 * max_step)
        self.is_out_of_reach = distance > max_lead
        lead *= min(1.0, max_lead / distance) if distance > 0.0 else 0.0
        positions = model.joint_positions(self.minimum.q)
        joint_step = self._next_positions(jacobian, lead, positions, dt, margin) - positions
        return PotentialMinimum(model.integrate(self.minimum.q, joint_step), task_position + lead)

    def interpolate(self, minimum: PotentialMinimum, share: float) -> PotentialMinimum:
        """Return the minimum at a share of the way from the present one to another."""
        displacement = share * self._model.difference(self.minimum.q, minimum.q)
        x = self.minimum.x + share * (minimum.x - self.minimum.x)
        return PotentialMinimum(self._model.integrate(self.minimum.q, displacement), x)

    def _next_positions(
        self, jacobian: Array, lead: Array, positions: Array, dt: float, margin: float
    ) -> Array:
        """Return joint positions (n,) one step closer; joints at a limit are left out."""
        is_free = np.ones(len(positions), dtype=bool)
        posture_step = np.zeros(len(positions))
        if self.is_out_of_reach:
            # A stretched arm could fold the wrong way when it returns; the initial posture decides.
            posture_step = dt * _POSTURE_RATE * (self._initial_posture - positions)
        next_positions = positions
        for _ in range(len(positions)):
            free_jacobian = jacobian * is_free
            # The damping stops the minimum at a reference out of reach instead of throwing it.
            gram = free_jacobian @ free_jacobian.T + self._damping**2 * np.eye(len(jacobian))
            remaining_lead = lead - free_jacobian @ posture_step
            task_step = free_jacobian.T @ np.linalg.solve(gram, remaining_lead)
            step = task_step + posture_step * is_free
            step /= max(1.0, float(np.max(np.abs(step) / (dt * self._model.joints.velocity))))
            next_positions = self._joint_limits.clip_positions(positions + step, positions, margin)
            is_stopped = is_free & (np.abs(next_positions - positions - step) > _MIN_LENGTH)
            if not is_stopped.any():
                break
            is_free &= ~is_stopped
        return next_positions

    def _requested_step(self, reference: Reference, dt: float) -> Array:
        self.is_rejected = False
        position = self._usable_vector(reference.position)
        if position is not None:
            self.target = position
        step = np.zeros(3)
        velocity = self._usable_vector(reference.velocity)
        if velocity is not None and position is None:
            step += dt * velocity
            self.target = None
        if self.target is not None:
            step += self.target - self.minimum.x
        return step

    def _usable_vector(self, value: Array | None) -> Array | None:
        usable_value = if_finite(value, (3,))
        self.is_rejected |= value is not None and usable_value is None
        return usable_value
