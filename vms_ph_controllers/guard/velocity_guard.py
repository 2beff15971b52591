# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A guard of energy before servos that follow velocities."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, VMSModel

from .servo_guard import ServoGuard, constant_bounds
from .settings import EnergyGuardSettings


class VelocityGuard(ServoGuard):
    r"""Bounds the energy that velocity commands give to a robot through its servos.

    A servo with a force :math:`D (c - \dot q)` gives at most :math:`D c^2 \Delta t / 4` within a
    sample, however the joint moves, and :math:`D (c\,\Delta q - \Delta q^2 / \Delta t)` once its
    displacement is known. A command of zero gives nothing.

    Assumption: every servo is such a damper, and its damping lies within the stated bounds.

    Args:
        model: the robot.
        damping: of the servos, (n,) or one number, N m s/rad or N s/m.
        uncertainty: bound of its relative error, 0 to below 1.
        options: budget, settings and delay of :class:`ServoGuard`.

    Raises:
        OptionError: an argument is out of range.
    """

    def __init__(
        self,
        model: VMSModel,
        damping: npt.ArrayLike,
        *,
        uncertainty: float = 0.2,
        budget: float | None = None,
        settings: EnergyGuardSettings | None = None,
        delay: int = 0,
    ) -> None:
        self._damping = constant_bounds(model, "damping", damping, uncertainty)
        super().__init__(model, budget=budget, settings=settings, delay=delay)

    def _restart(self, acting: Array) -> None:
        self._per_damping = np.zeros(self._n)  # per damping

    def _resting(self) -> Array:
        return np.zeros(self._n)

    def _safe(self, last: Array) -> Array:
        return np.zeros(self._n)

    def _retreat(self, last: Array, dt: float) -> Array:
        return np.zeros(self._n)

    def _account(self, over: Sequence[Array], measured: Array, dt: float) -> None:
        if len(over) > 1:  # samples were lost: the positions at these changes are not known
            self._per_damping += 0.25 * dt / len(over) * np.square(over).sum(0)
        elif dt > 0.0:
            way = measured - self._positions
            self._per_damping += over[0] * way - way**2 / dt

    def _release(self, last: Array, command: Array, dt: float) -> float:
        commands = np.array([*self._commands, command])
        ahead = self._per_damping + 0.25 * dt * np.square(commands).sum(0)
        return float((self._damping * ahead).max(0).sum())
