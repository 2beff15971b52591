# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings with known loads: how far the loads that are found lie from the true ones.

The interval of one recording covers its own noise. What changes from recording to recording, such
as friction that warms up or gains that drift, shows in the errors of other recordings only.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..energy.samples import MotionSamples
from ..errors import OptionError
from ..model import VMSModel
from .estimate import student
from .identify import Settings, identify
from .result import Identification, LoadEstimate, Parameter, Posterior

LEAST_SESSIONS = 2
"""Sessions below which nothing is known of the scatter between them."""


@dataclass(frozen=True)
class Reference:
    """A recording with a known load.

    Attributes:
        name: of the recording.
        load: its mass, kg; zero without.
        samples: the recording, in one part or several.
        session: recordings of a session share what changes from session to session; empty: the
            recording is a session of its own.
    """

    name: str
    load: float
    samples: Sequence[MotionSamples]
    session: str = ""

    @property
    def group(self) -> str:
        """The session, or the recording itself."""
        return self.session or self.name


def reference_loads(
    model: VMSModel,
    references: Sequence[Reference],
    kinds: Collection[str] = ("payload",),
    *,
    settings: Settings | None = None,
    **options: Any,
) -> tuple[LoadEstimate, ...]:
    """Return the errors of the loads that are found in recordings with known loads.

    The prior must not have been made from these recordings: see :func:`left_out_loads`. References
    that do not excite the mass of a load are left out. The arguments are those of
    :func:`.identify`.
    """
    options["settings"] = replace(settings or Settings(), energy=False)
    estimates = []
    for ref in references:
        result = identify(model, list(ref.samples), kinds, **options)
        mass = result["payload_mass"]
        if mass.low is not None and mass.high is not None:
            centre, half_width = 0.5 * (mass.low + mass.high), 0.5 * (mass.high - mass.low)
            deviation = half_width / result.quantile
            estimates.append(LoadEstimate(ref.name, ref.group, ref.load, centre, deviation))
    return tuple(estimates)


def left_out_loads(
    model: VMSModel,
    samples: Sequence[MotionSamples],
    references: Sequence[Reference],
    kinds: Collection[str],
    *,
    prior: Posterior | None = None,
    **options: Any,
) -> tuple[LoadEstimate, ...]:
    """Return the errors of references of which each session is left out of the calibration in turn.

    Args:
        model: the robot.
        samples: further recordings without a load, which are never left out.
        references: recordings with known loads; those without a load calibrate too.
        kinds: what is calibrated, such as friction and gains.
        prior: what is believed before the calibration.
        **options: ``frame`` and ``settings`` of :func:`.identify`.

    Raises:
        OptionError: without one of the sessions there is no recording without a load.
    """
    options["settings"] = replace(options.get("settings") or Settings(), energy=False)
    estimates: list[LoadEstimate] = []
    for session in dict.fromkeys(ref.group for ref in references):
        other_references = (ref for ref in references if ref.group != session and ref.load == 0.0)
        calibration = [*samples, *(sample for ref in other_references for sample in ref.samples)]
        if not calibration:
            raise OptionError(
                f"without the session '{session}' no recording without a load is left to identify "
                f"{' and '.join(kinds)} from; give one more, as FILE=0"
            )
        posterior = identify(model, calibration, kinds, prior=prior, **options).posterior
        session_references = [ref for ref in references if ref.group == session]
        estimates += reference_loads(model, session_references, prior=posterior, **options)
    return tuple(estimates)


def scatter(estimates: Sequence[LoadEstimate]) -> tuple[float, int]:
    """Return the standard deviation between recordings beyond their own noise, and the sessions.

    It is the one with which the squares of the errors are what they should be, on average over the
    sessions (Paule and Mandel, with the mean zero). The mean error is not removed: that with a load
    need not be that without.

    Raises:
        OptionError: there are fewer than two sessions.
    """
    sessions = list(dict.fromkeys(estimate.session for estimate in estimates))
    if len(sessions) < LEAST_SESSIONS:
        raise OptionError(
            f"{LEAST_SESSIONS} sessions of reference recordings whose motion tells their load are "
            f"the least to see a scatter between them; given: {len(sessions)}"
        )
    counts = {name: sum(estimate.session == name for estimate in estimates) for name in sessions}
    weights = np.array([1.0 / counts[estimate.session] for estimate in estimates])
    squared_errors = np.array([estimate.error**2 for estimate in estimates])
    variances = np.array([estimate.deviation**2 for estimate in estimates])

    def excess_squares(variance: float) -> float:
        return float(np.sum(weights * squared_errors / (variances + variance))) - len(sessions)

    low, high = 0.0, float(squared_errors.max()) * len(sessions)
    if excess_squares(low) <= 0.0:
        return 0.0, len(sessions)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess_squares(middle) > 0.0 else (low, middle)
    return float(np.sqrt(high)), len(sessions)


def widen_interval(identified: Identification, estimates: Sequence[LoadEstimate]) -> Identification:
    """Return an identification whose interval of the load's mass covers what references show.

    The interval is a prediction for one further recording: the variance is that of the recording's
    own noise and that between recordings, and Student's distribution has as many degrees of freedom
    as there are sessions of references.

    Raises:
        OptionError: there are fewer than two sessions.
    """
    deviation, session_count = scatter(estimates)

    def widen(p: Parameter) -> Parameter:
        if p.name != "payload_mass" or p.low is None or p.high is None:
            return p
        middle, half_width = 0.5 * (p.low + p.high), 0.5 * (p.high - p.low)
        quantile = max(student(session_count), identified.quantile)
        half_width = quantile * float(np.hypot(half_width / identified.quantile, deviation))
        meaning = (
            f"{p.low:.4g} to {p.high:.4g} by the noise of this recording alone; {len(estimates)} "
            f"references in {session_count} sessions scatter by {deviation:.2g} kg beyond theirs"
        )
        return replace(p, low=middle - half_width, high=middle + half_width, meaning=meaning)

    return replace(
        identified,
        parameters=tuple(widen(parameter) for parameter in identified.parameters),
        posterior=replace(identified.posterior, references=tuple(estimates)),
    )
