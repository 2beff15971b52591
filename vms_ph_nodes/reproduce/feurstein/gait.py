"""What a run looks like hop by hop, and whether a gait is stable."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.contact import ContactEvent, EventKind, HoppingRun, LegState, Phase, hop

from .experiments import Trial

# Flights shorter than this, s, are bounces within a landing.
SHORTEST_FLIGHT = 0.05

# Floquet multipliers are those of a map from this long after a lift-off, s, when the foot is well
# above the floor, to the same after the next.
_SECTION = 0.1
_NUDGE = 1e-6


@dataclass(frozen=True)
class Flight:
    """A flight of a leg.

    Attributes:
        start, end: times of lift-off and touch-down, s.
        first, last: the leg at both; the radial vibration of a damped leg has died out by the end.
        lift_off: the event, None for the fall at the beginning.
    """

    start: float
    end: float
    first: LegState
    last: LegState
    lift_off: ContactEvent | None

    @property
    def angular_momentum(self) -> float:
        """About the centre of mass, N m s; constant in flight."""
        return self.last.angular_momentum

    @property
    def drift(self) -> float:
        """Horizontal momentum, N s; constant in flight."""
        return float(self.last.momentum[0])

    @property
    def rotation(self) -> float:
        """How far the leg turns from lift-off to touch-down, rad."""
        return self.last.angle - self.first.angle

    def apex_height(self, gravity: float) -> float:
        """Return the largest height of the centre of mass, m."""
        rise = max(float(self.first.centre_rate[1]), 0.0)
        return float(self.first.centre[1]) + 0.5 * rise**2 / gravity

    def apex_time(self, gravity: float) -> float:
        """Return when the centre of mass is highest, s."""
        return self.start + float(self.first.centre_rate[1]) / gravity


def flights(run: HoppingRun) -> list[Flight]:
    """Return the flights that have ended, the fall at the beginning included."""
    found: list[Flight] = []
    up: ContactEvent | None = None
    start, first = 0.0, run.leg(0)
    for event in run.events:
        leg = run.system.seen(event.state)
        if event.kind is EventKind.LIFT_OFF:
            up, start, first = event, event.time, leg
        elif event.kind is EventKind.TOUCH_DOWN and event.time - start > SHORTEST_FLIGHT:
            found.append(Flight(start, event.time, first, leg, up))
    return found


def multipliers(trial: Trial, after: Flight) -> np.ndarray:
    """Return the Floquet multipliers of a gait, largest first, (2 nv - 1,) complex.

    Those of the map from a state a tenth of a second after one lift-off to the same after the next,
    by central differences of all coordinates but x. The gait must have converged by then; a
    direction along the motion has the multiplier zero.
    """
    assert after.lift_off is not None
    size = 2 * trial.system.nv
    # From section to lift-off it is a period less a tenth of a second; stances last less than that.
    span = after.end - after.start + 0.05
    centre = _section(trial, after.lift_off.state[:size].copy())
    columns = []
    for i in range(1, size):
        ends = []
        for sign in (1.0, -1.0):
            y = centre.copy()
            y[i] += sign * _NUDGE
            ends.append(_next(trial, y, span))
        columns.append((ends[0] - ends[1])[1:] / (2 * _NUDGE))
    found = np.linalg.eigvals(np.stack(columns, axis=1))
    return found[np.argsort(-np.abs(found))]


def _section(trial: Trial, y: np.ndarray) -> np.ndarray:
    """The state a section's time after a lift-off."""
    nv = trial.system.nv
    found = hop(
        trial.system,
        trial.leg.configuration(y[:nv]),
        y[nv : 2 * nv],
        _SECTION,
        tolerance=1e-9,
        skin=trial.skin,
        sample=_SECTION,
        phase=Phase.FLIGHT,
    )
    return _unwound(found.states[-1][: 2 * nv], y)


def _next(trial: Trial, y: np.ndarray, duration: float) -> np.ndarray:
    """The return map of the section."""
    nv = trial.system.nv
    found = hop(
        trial.system,
        trial.leg.configuration(y[:nv]),
        y[nv : 2 * nv],
        duration,
        tolerance=1e-9,
        skin=trial.skin,
        sample=duration,
        phase=Phase.FLIGHT,
    )
    up = [e for e in found.events if e.kind is EventKind.LIFT_OFF]
    return _section(trial, _unwound(up[-1].state[: 2 * nv], y))


def _unwound(y: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The state with its angle in the turn nearest to that of another."""
    y = y.copy()
    y[2] += 2 * np.pi * np.round((near[2] - y[2]) / (2 * np.pi))
    return y
