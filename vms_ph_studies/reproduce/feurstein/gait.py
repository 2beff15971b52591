# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The gait that a run converges to, and the stability of that gait."""

import numpy as np

from vms_ph_hopping import EventKind, HoppingRun, Phase, hop
from vms_ph_hopping.flights import Flight

from .experiments import Trial

# Floquet multipliers are those of a map from this long after a lift-off, s, when the foot is well
# above the floor, to the same after the next.
_SECTION_DELAY = 0.1
_DIFFERENCE_STEP = 1e-6


def multipliers(trial: Trial, flight: Flight) -> np.ndarray:
    """Return the Floquet multipliers of a gait, largest first, (2 nv - 1,) complex.

    Those of the map from a state a tenth of a second after one lift-off to the same after the next,
    by differences of all coordinates but x. The gait must have converged by then; a
    direction along the motion has the multiplier zero.
    """
    assert flight.lift_off is not None
    state_size = 2 * trial.system.nv
    # From section to lift-off it is a period less a tenth of a second; stances last less than that.
    duration = flight.end - flight.start + 0.05
    section = _section_state(trial, flight.lift_off.state[:state_size].copy())
    image = _return_map(trial, section, duration)
    columns = []
    for i in range(1, state_size):
        y = section.copy()
        y[i] += _DIFFERENCE_STEP
        columns.append((_return_map(trial, y, duration) - image)[1:] / _DIFFERENCE_STEP)
    eigenvalues = np.linalg.eigvals(np.stack(columns, axis=1))
    return eigenvalues[np.argsort(-np.abs(eigenvalues))]


def largest_multiplier(trial: Trial, hops: list[Flight]) -> complex | None:
    """Return the largest Floquet multiplier of the gait that a run has converged to.

    None if there is no gait: the last three flights differ, or the leg has fallen.
    """
    gait = converged_flight(hops)
    return None if gait is None else complex(multipliers(trial, gait)[0])


def converged_flight(hops: list[Flight]) -> Flight | None:
    """Return one of the last flights if they are alike, else None."""
    if len(hops) < 4:
        return None
    last_flights = hops[-3:]
    for quantity in (
        [last_flight.end - last_flight.start for last_flight in last_flights],
        [flight.last.angle for flight in last_flights],
        [f.horizontal_momentum for f in last_flights],
    ):
        if np.ptp(quantity) > 1e-3:
            return None
    return last_flights[1]


def degrees(angle: float) -> float:
    """Return an angle in degrees."""
    return float(np.degrees(angle))


def _flight_run(trial: Trial, y: np.ndarray, duration: float) -> HoppingRun:
    """Return the run from a state in flight."""
    nv = trial.system.nv
    return hop(
        trial.system,
        trial.leg.configuration(y[:nv]),
        y[nv : 2 * nv],
        duration,
        tolerance=1e-9,
        liftoff_height=trial.skin,
        sample_interval=duration,
        phase=Phase.FLIGHT,
        with_energies=False,
    )


def _section_state(trial: Trial, y: np.ndarray) -> np.ndarray:
    """Return the state at the section, a fixed time after a lift-off."""
    return _unwrapped(_flight_run(trial, y, _SECTION_DELAY).states[-1][: len(y)], y)


def _return_map(trial: Trial, y: np.ndarray, duration: float) -> np.ndarray:
    """Return the image of a state of the section by the return map."""
    lift_offs = [e for e in _flight_run(trial, y, duration).events if e.kind is EventKind.LIFT_OFF]
    return _section_state(trial, _unwrapped(lift_offs[-1].state[: len(y)], y))


def _unwrapped(y: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the state with its angle unwrapped to within a half-turn of another."""
    y = y.copy()
    y[2] += 2 * np.pi * np.round((reference[2] - y[2]) / (2 * np.pi))
    return y
