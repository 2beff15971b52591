# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Velocities of a robot smoothed over a short window, independent of the sample they belong to."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array

from .impulse_balance import ExternalImpulse

# Shortest frame, s: faster samples are added up. A little less than 5 ms, for times that jitter.
_SHORTEST_FRAME = 4.5e-3

# Time to each side over which velocities are smoothed, s, and the frames that this may be.
_HALF_TIME, _MIN_COUNT, _MAX_COUNT = 0.05, 2, 10

# A velocity below so many of its standard deviations counts as rest.
_REST_DEVIATIONS = 4.0

# An error of the smoothing is seen where it exceeds so many standard deviations of the noise.
_SIGNIFICANCE = 3.0


@dataclass(slots=True)
class TimeFrame:
    """The samples of at least 4.5 ms, added up.

    Attributes:
        time: time of the end of the frame, s.
        dt: its duration, s.
        q: (nq,) and v: (nv,) measured at its end.
        impulse: (nv,) external impulse, in the standard coordinates.
        effort_var: (nv,) variances of the impulse by noise of the efforts.
        slow_error: (nv,) standard deviations of slow errors.
    """

    time: float
    dt: float
    q: Array
    v: Array
    impulse: Array
    effort_var: Array
    slow_error: Array


@dataclass(frozen=True, slots=True)
class SmoothedFrame:
    """The frame in the middle of a window.

    Attributes:
        frame: the frame.
        velocity: (nv,) at its end, from all velocities of the window but its own.
        fit_error: (nv,) difference of the measured velocity from it beyond noise.
        error_frames: number of frames for which such an error lasts.
        variance_share: variance of the velocity by noise over that of one measurement.
    """

    frame: TimeFrame
    velocity: Array
    fit_error: Array
    error_frames: int
    variance_share: float


class MotionWindow:
    """Frames around the one for which a velocity is wanted.

    A quadratic in time is fitted by least squares to the velocities before and after a frame. Its
    own measurement is left out, because its noise is in the momentum of that frame too: a regressor
    that shares the noise of what it explains is biased. Velocities that noise alone can explain are
    faded out, so that a robot at rest has regressors that are zero, not noise.
    """

    def __init__(self, deviations: Array) -> None:
        """Smooth velocities with the standard deviations (nv,) of their noise."""
        self._deviations = deviations
        self.restart()

    def restart(self) -> None:
        """Forget all frames."""
        self._frames: deque[TimeFrame] = deque()
        self._open_frame: TimeFrame | None = None
        self._half_width = 0
        self._time = 0.0

    def add(self, impulse: ExternalImpulse) -> SmoothedFrame | None:
        """Return the middle of the window where a sample completes it; else None."""
        d, zero = impulse.d, np.zeros_like(impulse.value)
        self._time += impulse.dt
        frame = self._open_frame or TimeFrame(0.0, 0.0, d.q, d.v, zero, zero, zero)
        frame.time, frame.q, frame.v = self._time, d.q, d.v
        frame.dt += impulse.dt
        frame.impulse = frame.impulse + impulse.value
        frame.effort_var = frame.effort_var + np.diagonal(impulse.effort_cov)
        frame.slow_error = frame.slow_error + impulse.slow_error
        self._open_frame = frame
        if frame.dt < _SHORTEST_FRAME:
            return None
        self._open_frame = None
        if not self._half_width:
            self._half_width = min(_MAX_COUNT, max(_MIN_COUNT, int(_HALF_TIME / frame.dt + 0.5)))
        self._frames.append(frame)
        if len(self._frames) <= 2 * self._half_width:
            return None
        smoothed_frame = self._smoothed_frame()
        self._frames.popleft()
        return smoothed_frame

    def _smoothed_frame(self) -> SmoothedFrame:
        """Return the middle frame with the value of the quadratic at its end."""
        half_width, frames = self._half_width, self._frames
        middle_frame = frames[half_width]
        other_frames = [frames[k] for k in range(2 * half_width + 1) if k != half_width]
        half_span = 0.5 * (frames[-1].time - frames[0].time)
        times = np.array([(frame.time - middle_frame.time) / half_span for frame in other_frames])
        weights = np.linalg.pinv(np.vander(times, 3, increasing=True))[0]  # of the quadratic at 0
        velocity = weights @ np.array([frame.v for frame in other_frames])
        variance_share = float(weights @ weights)
        threshold = np.maximum(_REST_DEVIATIONS * np.sqrt(variance_share) * self._deviations, 1e-12)
        signal_ratio = (velocity / threshold) ** 2
        velocity = velocity * (signal_ratio * signal_ratio / (1.0 + signal_ratio * signal_ratio))
        smoothing_error = middle_frame.v - velocity
        noise = _SIGNIFICANCE * np.sqrt(1.0 + variance_share) * self._deviations
        fit_error = np.sign(smoothing_error) * np.maximum(np.abs(smoothing_error) - noise, 0.0)
        return SmoothedFrame(middle_frame, velocity, fit_error, 2 * half_width + 1, variance_share)
