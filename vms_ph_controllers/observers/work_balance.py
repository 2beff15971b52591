# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The work of external forces over a sample, from the balance of energy."""

from dataclasses import dataclass

import numpy as np

from .impulse_balance import ExternalImpulse, ImpulseBalance


@dataclass(frozen=True, slots=True)
class ExternalWork:
    """The work of the external forces over one sample, with its uncertainty, J and J^2.

    Attributes:
        value: positive where the robot gained energy.
        before, after: variances of the energies at both ends by noise.
        held: variance of the work by noise of the efforts.
        systematic: standard deviation of slow errors, which add up over samples.
        curved: largest eigenvalue of the covariance of the kinetic energy's second-order term
            ``1/2 e^T M e`` with the noise e of the velocity; at rest it is all the noise there is.
    """

    value: float
    before: float
    after: float
    held: float
    systematic: float
    curved: float


class WorkBalance:
    """Energy gained over a sample, less the work of the known efforts.

    The work of efforts that are held is ``f^T (q_next - q)`` without error, whatever the motion in
    between; that of a base wrench in turning axes to third order in dt. It needs no velocity, so
    that the noise of the velocity enters the kinetic energy alone.
    """

    def __init__(self, balance: ImpulseBalance) -> None:
        """Balance the energy of the robot of a balance of momentum, with the same noise."""
        self._model = balance.model
        self._positions = balance.noise.of_position(self._model) ** 2
        self._velocities = balance.noise.of_velocity(self._model) ** 2
        self._efforts = balance.noise.of_effort(self._model) ** 2
        self.restart()

    def restart(self) -> None:
        """Begin at the next state."""
        self._last: ExternalImpulse | None = None

    def add(self, impulse: ExternalImpulse) -> ExternalWork | None:
        """Return the external work since the last sample; None at the first one."""
        last, self._last = self._last, impulse
        if last is None:
            return None
        before, now = last.d, impulse.d
        way = self._model.difference(before.q, now.q)
        gained = now.kinetic_energy + now.potential_energy
        gained -= before.kinetic_energy + before.potential_energy
        known = impulse.effort + impulse.friction
        return ExternalWork(
            gained - float(known @ way),
            self._variance(last, known),
            self._variance(impulse, known),
            float(self._efforts @ way**2),
            float(np.abs(way) @ impulse.systematic) / impulse.dt,
            float((np.diag(now.M) * self._velocities).sum()),
        )

    def _variance(self, end: ExternalImpulse, known: np.ndarray) -> float:
        by_velocity = float(self._velocities @ end.d.momentum**2)
        return by_velocity + float(self._positions @ (end.d.g - known) ** 2)
