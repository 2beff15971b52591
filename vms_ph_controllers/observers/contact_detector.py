# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Detection of contacts from the balances of momentum and energy."""

from collections import deque
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from vms_ph_dynamics import OptionError

from .impulse_balance import ExternalImpulse, ExternalWork, ImpulseBalance, WorkBalance
from .noise import chi_square_quantile

_SECONDS_PER_HOUR = 3600.0

# Share of a threshold below which a statistic counts as quiet.
_QUIET_SHARE = 0.25

# Added to the variances of an impulse, so that a robot without noise has a covariance.
_SMALLEST_VARIANCE = 1e-18


@dataclass(frozen=True, slots=True)
class ContactReport:
    """What is known of contact after a sample.

    Attributes:
        contact: whether there is contact.
        has_begun: whether it was detected in this sample.
        by_momentum: largest statistic of the external impulse over its threshold.
        by_energy: largest statistic of the external work over its threshold.
        duration: length of the window with the largest statistic of momentum, s.
        work: work of the external forces over the longest window, J; negative where the robot lost
            energy.
        work_deviation: standard deviation of it, J.
        joint: last joint, counted from zero, on which the impulse differs from zero by itself; -1
            for none. A contact acts on the link that it moves, or beyond.
    """

    contact: bool
    has_begun: bool
    by_momentum: float
    by_energy: float
    duration: float
    work: float
    work_deviation: float
    joint: int


class ContactDetector:
    """Tests whether the external impulse and work of the last samples are noise.

    For windows of 1, 2, 4, ... samples, the statistic of momentum is ``D^T S^-1 D`` with the
    impulse D over the window and its covariance S; without contact it has the chi-square
    distribution with nv degrees of freedom. That of energy is the square of the work over its
    standard deviation, with one degree of freedom, after the second-order noise of the kinetic
    energy is taken off at its own quantile. The thresholds follow from the stated noise: the
    expected number of false alarms, summed over all windows, both statistics and all samples of an
    hour, is at most ``false_alarms``.

    A contact ends when no statistic has exceeded a quarter of its threshold for as long as the
    longest window.
    """

    def __init__(
        self, balance: ImpulseBalance, false_alarms: float = 1.0, windows: int = 6
    ) -> None:
        """Detect contacts from the impulses of a balance.

        Args:
            balance: of momentum.
            false_alarms: largest expected number of them in an hour.
            windows: number of windows; the longest has ``2^(windows - 1)`` samples.

        Raises:
            OptionError: a number is not in its range.
        """
        if not (0.0 < false_alarms <= 1e6):
            raise OptionError(f"false_alarms must be in (0, 1e6] in an hour; given: {false_alarms}")
        if not 1 <= windows <= 10:
            raise OptionError(f"windows must be from 1 to 10; given: {windows}")
        self._model, self.false_alarms = balance.model, false_alarms
        self._work_balance = WorkBalance(balance)
        self._lengths = tuple(2**i for i in range(windows))  # of windows, in samples
        self._cached_bounds: tuple[float, float, float] | None = None
        self._bounds_dt = 0.0
        self.restart()

    def restart(self) -> None:
        """Begin without contact."""
        self._has_contact, self._quiet_samples = False, 0
        self._clear_windows()

    def _clear_windows(self) -> None:
        """Begin windows anew; a contact goes on."""
        self._samples: deque[tuple[ExternalImpulse, ExternalWork | None]]
        self._samples = deque(maxlen=self._lengths[-1])
        self._work_balance.restart()

    def add(self, impulse: ExternalImpulse) -> ContactReport:
        """Return what is known after a sample."""
        if impulse.is_first:
            self._clear_windows()
        self._samples.append((impulse, self._work_balance.add(impulse)))
        momentum_bound, energy_bound, joint_bound = self._thresholds(impulse.dt)
        momentum_ratio, momentum_window, joint = self._test_momentum(momentum_bound, joint_bound)
        energy_ratio, work, deviation = self._test_energy(energy_bound, momentum_bound)
        largest_ratio = max(momentum_ratio, energy_ratio)
        began = not self._has_contact and largest_ratio > 1.0
        self._quiet_samples = 0 if largest_ratio > _QUIET_SHARE else self._quiet_samples + 1
        self._has_contact = (self._has_contact or began) and self._quiet_samples < self._lengths[-1]
        return ContactReport(
            self._has_contact,
            began,
            momentum_ratio,
            energy_ratio,
            momentum_window,
            work,
            deviation,
            joint if largest_ratio > 1.0 else -1,
        )

    def _thresholds(self, dt: float) -> tuple[float, float, float]:
        """Return the thresholds of momentum, of energy and of a single joint.

        They are for samples half as long, and serve until samples are half or twice as long: what
        jitters needs no new quantiles.
        """
        if self._cached_bounds is None or not 0.5 * self._bounds_dt < dt < 2.0 * self._bounds_dt:
            nv, test_count, self._bounds_dt = self._model.nv, 2 * len(self._lengths), dt
            probability = min(0.5, self.false_alarms * 0.5 * dt / _SECONDS_PER_HOUR / test_count)
            momentum_threshold = chi_square_quantile(probability, nv)
            energy_threshold = chi_square_quantile(probability, 1)
            joint_threshold = chi_square_quantile(probability / nv, 1)
            self._cached_bounds = momentum_threshold, energy_threshold, joint_threshold
        return self._cached_bounds

    def _test_momentum(self, bound: float, joint_bound: float) -> tuple[float, float, int]:
        """Return the largest statistic over its bound, the length of its window, and its joint."""
        b, nv, last_impulse = self._model.b, self._model.nv, self._samples[-1][0]
        largest_ratio, momentum_window, joint = 0.0, 0.0, -1
        window_time, impulse, slow_errors = 0.0, np.zeros(nv), np.zeros(nv)
        noise_covariance = last_impulse.end_cov + _SMALLEST_VARIANCE * np.eye(nv)
        for length, (sample, _) in enumerate(reversed(self._samples), 1):
            window_time += sample.dt
            impulse = impulse + sample.value
            slow_errors = slow_errors + sample.slow_error
            noise_covariance = noise_covariance + sample.effort_cov
            if length not in self._lengths:
                continue
            covariance = noise_covariance + sample.start_cov + np.diag(slow_errors**2)
            ratio = float(impulse @ np.linalg.solve(covariance, impulse)) / bound
            if ratio > largest_ratio:
                largest_ratio, momentum_window = ratio, window_time
                joints = np.flatnonzero(impulse[b:] ** 2 > joint_bound * np.diag(covariance)[b:])
                joint = int(joints[-1]) if joints.size else -1
        return largest_ratio, momentum_window, joint

    def _test_energy(self, bound: float, momentum_bound: float) -> tuple[float, float, float]:
        """Return the largest statistic over its bound, the work and its standard deviation."""
        largest_ratio, work, deviation = 0.0, 0.0, inf
        total_work = variance = slow_error = 0.0
        last = self._samples[-1][1]
        for length, (_, sample) in enumerate(reversed(self._samples), 1):
            if last is None or sample is None:
                break
            total_work += sample.value
            variance += sample.effort_variance
            slow_error += sample.slow_error
            if length not in self._lengths:
                continue
            work = total_work
            deviation = sqrt(last.end_variance + sample.start_variance + variance + slow_error**2)
            quadratic_bound = 0.5 * momentum_bound * (last.quadratic_noise + sample.quadratic_noise)
            significant_work = max(0.0, abs(total_work) - quadratic_bound)
            if deviation > 0.0:
                largest_ratio = max(largest_ratio, (significant_work / deviation) ** 2 / bound)
        return largest_ratio, work, deviation
