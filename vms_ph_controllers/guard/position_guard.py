# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A guard of energy before servos that follow positions."""

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, OptionError, VMSModel

from .servo_guard import ServoGuard, constant_bounds
from .settings import EnergyGuardSettings

# Force of a joint without a limit in its description, N m or N.
_NO_LIMIT = 1e9


class PositionGuard(ServoGuard):
    r"""Bounds the energy that position commands give to a robot through its servos.

    A servo with a fixed command is a spring and damper, and gives at most what its spring holds:
    with a force :math:`K (c - q) - D \dot q` up to the limit of the joint, the energy given and the
    energy in the spring do not grow together. Only a change of the command adds to them, by the
    spring energy after it less that before. So this sum is known from the measured positions, with
    a spring whose stiffness is constant within its bounds, whatever contacts or people do.

    Assumption: every servo is such a spring and damper (no feed-forward, no integrator; what it
    adds against the weight does no work on the whole), its stiffness lies within the stated bounds,
    and, with a delay, joints move no faster than their velocity limits.

    Args:
        model: the robot; of its joints the limits of effort and velocity are used.
        stiffness: of the servos, (n,) or one number, N m/rad or N/m.
        damping: of the servos, (n,) or one number, N m s/rad or N s/m; 0 where it is not known.
        uncertainty: bound of the relative errors of stiffness and damping, 0 to below 1.
        options: budget, settings and delay of :class:`ServoGuard`.

    Raises:
        OptionError: an argument is out of range, or a joint has no velocity limit and the delay is
            not zero.
    """

    def __init__(
        self,
        model: VMSModel,
        stiffness: npt.ArrayLike,
        damping: npt.ArrayLike = 0.0,
        *,
        uncertainty: float = 0.2,
        budget: float | None = None,
        settings: EnergyGuardSettings | None = None,
        delay: int = 0,
    ) -> None:
        self._stiffness = constant_bounds(model, "stiffness", stiffness, uncertainty)
        self._damping = constant_bounds(model, "damping", damping, uncertainty, 0.0)[0]
        effort, self._speed = model.joints.effort, model.joints.velocity
        self._limit = np.where(effort > 0.0, np.minimum(effort, _NO_LIMIT), _NO_LIMIT)
        self._linear = self._limit / self._stiffness[1]  # longest spring below the limit
        if delay and not np.isfinite(self._speed).all():
            raise OptionError("with a delay every joint needs a velocity limit in the description")
        super().__init__(model, budget=budget, settings=settings, delay=delay)

    def _restart(self, acting: Array) -> None:
        # What changes of commands add at most to the energy given and stored, for the least and the
        # largest stiffness, (2, n) J: those that took place, and those under way.
        self._added = self._change(self._positions, acting, 0.0)
        self._pending: deque[Array] = deque([np.zeros((2, self._n))] * self.delay)
        self._dissipated = 0.0  # by the dampers, J

    def _resting(self) -> Array:
        return self._positions.copy()

    def _safe(self, last: Array) -> Array:
        return last

    def _retreat(self, last: Array, dt: float) -> Array:
        step = self._speed * dt
        return last + np.clip(self._positions - last, -step, step)

    def _account(self, over: Sequence[Array], measured: Array, dt: float) -> None:
        if dt > 0.0:
            self._dissipated += float(self._damping @ (measured - self._positions) ** 2) / dt
        self._positions = measured
        if self.delay:
            for _ in over[1:]:  # in lost samples, at positions that are not known
                self._added = self._added + self._pending.popleft()
            self._pending.popleft()
            self._added = self._added + self._change(over[-1], self._commands[0], 0.0)

    def _release(self, last: Array, command: Array, dt: float) -> float:
        change = self._change(last, command, self.delay * dt)
        return float(sum(self._pending, self._added + change).max(0).sum()) - self._dissipated

    def _send(self, last: Array, command: Array, dt: float) -> None:
        super()._send(last, command, dt)
        change = self._change(last, command, self.delay * dt)
        if self.delay:
            self._pending.append(change)
        else:
            self._added = self._added + change

    def _change(self, before: Array, after: Array, time: float) -> Array:
        """Return what a change of the command adds at most to the springs, (2, n) J.

        It takes place within a time (s) from the present positions on. In the linear range the two
        rows are for the least and the largest stiffness; beyond it they are equal.
        """
        reach = self._speed * time if time > 0.0 else np.zeros(self._n)
        before, after = before - self._positions, after - self._positions
        most = np.maximum(
            self._energy(after - reach) - self._energy(before - reach),
            self._energy(after + reach) - self._energy(before + reach),
        )
        linear = np.maximum(np.abs(before), np.abs(after)) + reach <= self._linear
        return np.where(linear, most, most.max(0))

    def _energy(self, stretch: Array) -> Array:
        """Return the energy of springs of the least and the largest stiffness, J."""
        k, length = self._stiffness, np.abs(stretch)
        knee = self._limit / k
        return np.where(length <= knee, 0.5 * k * length**2, self._limit * (length - 0.5 * knee))
