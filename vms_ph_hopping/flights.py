# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The flights of a hopping leg."""

from dataclasses import dataclass

from .hopper import ContactEvent, EventKind
from .leg import LegState
from .leg_on_floor import LegOnFloor
from .runs import HoppingRun

FALLEN_HEIGHT = 0.02
"""Height of the centre of mass, m, below which the leg lies on the floor: it has fallen."""

SHORTEST_FLIGHT = 0.05
"""Shorter flights, s, are bounces within a landing."""


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
        """Angular momentum about the centre of mass, N m s; constant in flight."""
        return self.last.angular_momentum

    @property
    def horizontal_momentum(self) -> float:
        """Horizontal momentum, N s; constant in flight."""
        return float(self.last.momentum[0])

    @property
    def rotation(self) -> float:
        """Rotation of the leg from lift-off to touch-down, rad."""
        return self.last.angle - self.first.angle

    def apex_height(self, gravity: float) -> float:
        """Return the largest height of the centre of mass, m."""
        speed = max(float(self.first.centre_rate[1]), 0.0)
        return float(self.first.centre[1]) + 0.5 * speed**2 / gravity

    def apex_time(self, gravity: float) -> float:
        """Return the time at which the centre of mass is highest, s."""
        return self.start + float(self.first.centre_rate[1]) / gravity


class Flights:
    """Gathers the flights of a run from its events, one by one.

    Attributes:
        completed: the flights that have ended, the fall at the beginning included.
    """

    def __init__(self, system: LegOnFloor, first_state: LegState) -> None:
        """Begin with the leg at the start of the run."""
        self._system, self._start, self._first = system, 0.0, first_state
        self._lift_off: ContactEvent | None = None
        self.completed: list[Flight] = []

    def add(self, event: ContactEvent) -> bool:
        """Add the next event; return whether it ends a flight."""
        if event.kind is EventKind.LIFT_OFF:
            self._lift_off, self._start = event, event.time
            self._first = self._system.leg_state(event.state)
            return False
        is_flight = event.time - self._start > SHORTEST_FLIGHT
        if event.kind is not EventKind.TOUCH_DOWN or not is_flight:
            return False
        leg = self._system.leg_state(event.state)
        self.completed.append(Flight(self._start, event.time, self._first, leg, self._lift_off))
        return True


def flights(run: HoppingRun) -> list[Flight]:
    """Return the flights that have ended, the fall at the beginning included."""
    collector = Flights(run.system, run.leg(0))
    for event in run.events:
        collector.add(event)
    return collector.completed
