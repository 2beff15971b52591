# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The external force on a robot, observed from its momentum."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, Evaluation, OptionError, VMSModel

from .impulse_balance import ExternalImpulse


@dataclass(frozen=True, slots=True)
class ExternalForce:
    """An observed generalised force, with its uncertainty.

    Attributes:
        d: the state.
        value: (nv,) in the coordinates of the balance, N and N m.
        covariance: (nv,nv), noise and systematic errors together.
    """

    d: Evaluation
    value: Array
    covariance: Array


class MomentumObserver:
    r"""The residual of the generalised momentum, ``r = K (mu - int (known rates + r) dt)``.

    It follows the external force through a first-order filter, ``dr/dt = K (f_ext - r)``, without
    accelerations. Over a sample the mean external force y is known from the balance of momentum,
    and the filter is exact for it: ``r += (1 - exp(-K dt)) (y - r)``. The covariance of r is
    propagated with the filter: the noise of a momentum enters two samples with opposite signs and
    leaves ``(a / dt)^2`` times its covariance and a small rest; systematic errors pass in full.
    """

    def __init__(self, model: VMSModel, bandwidth: float = 30.0) -> None:
        """Observe the force on a robot.

        Args:
            model: the robot.
            bandwidth: K, 1/s.

        Raises:
            OptionError: the bandwidth is not positive and finite.
        """
        if not (np.isfinite(bandwidth) and bandwidth > 0.0):
            raise OptionError(f"the bandwidth must be positive, in 1/s; given: {bandwidth}")
        self._model, self.bandwidth = model, bandwidth
        self.restart()

    def restart(self) -> None:
        """Begin with a force of zero."""
        nv = self._model.nv
        self._value, self._systematic = np.zeros(nv), np.zeros(nv)
        self._rest, self._effort_noise = np.zeros((nv, nv)), np.zeros((nv, nv))
        self._ending, self._leak = np.zeros((nv, nv)), 0.0

    def add(self, impulse: ExternalImpulse) -> ExternalForce:
        """Return the observed force at the end of a sample."""
        share = 1.0 - np.exp(-self.bandwidth * impulse.dt)
        keep, gain = 1.0 - share, share / impulse.dt
        if impulse.begins:
            self._rest = self._rest + self._ending
            self._leak = 0.0
        leak = keep * self._leak - gain
        self._value = keep * self._value + gain * impulse.value
        self._rest = keep * keep * self._rest + leak * leak * impulse.before
        self._leak = gain
        self._effort_noise = keep * keep * self._effort_noise + gain * gain * impulse.effort_noise
        self._systematic = keep * self._systematic + gain * impulse.systematic
        self._ending = gain * gain * impulse.after
        covariance = self._rest + self._effort_noise + self._ending + np.diag(self._systematic**2)
        return ExternalForce(impulse.d, self._value, covariance)
