"""The minimum of a potential that follows a reference of the task."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation
from vms_ph_dynamics.tasks import PositionTask

from ..interface import Reference
from ..potentials.joint_limit_potential import JointLimitPotential

# Distances of the reference shorter than this, m, are none.
_STILL = 1e-9

# The reference waits where the minimum is further behind than this, m.
_BEHIND = 1e-3

# Rate at which a minimum that cannot follow is drawn to its first posture, 1/s.
_PULL = 1.0


@dataclass(frozen=True, slots=True)
class Minimum:
    """A minimum of the potential and the task position it stands for.

    Attributes:
        q: (nq,). x: (3,) m.
    """

    q: Array
    x: Array


class ReferenceGovernor:
    """Follows references with a limited speed, within the joint limits.

    ``q*`` follows ``x*`` by damped Newton steps on ``f(q*) = x*``; where it cannot, it stays as
    close as it gets.

    Attributes:
        now: where the minimum is.
        target: where it is to go, (3,) m; None when a velocity leads it.
        refused: whether the last reference was unusable: not finite, or not of three entries.
        is_behind: whether the reference is where the minimum cannot follow.
    """

    def __init__(self, model: VMSModel, task: PositionTask, damping: float) -> None:
        self._model, self._task, self._damping = model, task, damping
        self._limits = JointLimitPotential(model)
        velocity = model.joints.velocity
        self._velocity = np.where(np.isfinite(velocity) & (velocity > 0.0), velocity, np.inf)
        self.set(model.neutral_configuration())

    def set(self, q: Array) -> Evaluation:
        """Put the minimum at a configuration (nq,) and return the terms there.

        Raises:
            StateError: not a configuration of the model.
        """
        d = self._model.evaluate(q, np.zeros(self._model.nv))
        self.now = Minimum(d.q, np.array(self._task.value(d)))
        self.target: Array | None = None
        self.refused = self.is_behind = False
        self._settled = True
        self._posture = self._model.joint_positions(d.q)
        return d

    def next(self, reference: Reference, dt: float, speed: float, margin: float) -> Minimum:
        """Return where a reference takes the minimum within a time step; nothing moves yet.

        Args:
            reference: what is wanted.
            dt: time step, s.
            speed: the largest speed, m/s.
            margin: distance kept from the joint limits, rad or m.
        """
        step = self._wanted(reference, dt)
        length = float(np.linalg.norm(step))
        if not dt > 0.0 or (length < _STILL and self._settled):
            return self.now
        reach = dt * speed
        step *= min(1.0, reach / length) if length > 0.0 else 0.0
        model, task = self._model, self._task
        at_minimum = Evaluation(model, self.now.q, np.zeros(model.nv))
        jacobian = task.jacobian(at_minimum)
        here = task.value(at_minimum)
        lead = self.now.x + step - here
        self._settled = bool(np.linalg.norm(lead) < _STILL)
        # A reference that runs away waits within this distance, always towards where it goes.
        leash = max(_BEHIND, 2.0 * reach)
        away = float(np.linalg.norm(lead))
        self.is_behind = away > leash
        lead *= min(1.0, leash / away) if away > 0.0 else 0.0
        before = model.joint_positions(self.now.q)
        after = self._moved(jacobian, lead, before, dt, margin)
        return Minimum(model.integrate(self.now.q, after - before), here + lead)

    def towards(self, minimum: Minimum, share: float) -> Minimum:
        """Return the minimum a share of the way from here to another."""
        way = share * self._model.difference(self.now.q, minimum.q)
        x = self.now.x + share * (minimum.x - self.now.x)
        return Minimum(self._model.integrate(self.now.q, way), x)

    def accept(self, minimum: Minimum) -> None:
        """Move there."""
        self.now = minimum

    def _moved(
        self, jacobian: Array, lead: Array, before: Array, dt: float, margin: float
    ) -> Array:
        """Return joint positions (n,) a step nearer; joints at a limit leave it to the others."""
        free = np.ones(len(before), dtype=bool)
        pull = np.zeros(len(before))
        if self.is_behind:
            # Stretched out, an arm can fold the wrong way when it comes back; the posture it set
            # out from tells it which.
            pull = dt * _PULL * (self._posture - before)
        after = before
        for _ in range(len(before)):
            usable = jacobian * free
            # Damped, so that a reference out of reach stops the minimum instead of flinging it.
            lift = usable @ usable.T + self._damping**2 * np.eye(len(usable))
            move = usable.T @ np.linalg.solve(lift, lead - usable @ pull) + pull * free
            move /= max(1.0, float(np.max(np.abs(move) / (dt * self._velocity))))
            after = self._limits.clipped(before + move, before, margin)
            stopped = free & (np.abs(after - before - move) > _STILL)
            if not stopped.any():
                break
            free &= ~stopped
        return after

    def _wanted(self, reference: Reference, dt: float) -> Array:
        self.refused = False
        position = self._usable(reference.position)
        if position is not None:
            self.target = position
        step = np.zeros(3)
        velocity = self._usable(reference.velocity)
        if velocity is not None:
            step += dt * velocity
            self.target = None
        if self.target is not None:
            step += self.target - self.now.x
        return step

    def _usable(self, value: Array | None) -> Array | None:
        if value is None:
            return None
        if np.shape(value) != (3,) or not np.isfinite(value).all():
            self.refused = True
            return None
        return value
