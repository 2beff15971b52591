# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Events: instants at which a function of time and state crosses zero."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

# The instant is located to this fraction of the step.
_RESOLUTION = 1e-12
_LIMIT = 100


@dataclass(frozen=True)
class Event:
    """An event, which takes place when ``value(t, state)`` crosses zero.

    The step ends at the event and the next one begins there: forces that begin or end at the event
    keep the order of the scheme.

    Attributes:
        name: name of the event in the trajectory.
        value: the function, such as the height of a foot above the floor.
        direction: the crossings that count: upwards, downwards or both.
        terminal: whether the run ends with it.
    """

    name: str
    value: Callable[[float, Any], float]
    direction: Literal["up", "down", "both"] = "both"
    terminal: bool = False

    def crossed(self, before: float, after: float) -> bool:
        """Return whether a change from one value to another is such a crossing."""
        up, down = before < 0.0 <= after, before > 0.0 >= after
        return (up and self.direction != "down") or (down and self.direction != "up")


def locate(value: Callable[[float], float], before: float, after: float, dt: float) -> float:
    """Return the first time found, within (0, dt] or [dt, 0), at which the sign has changed.

    Regula falsi with the Illinois weights, on a bracket whose right end has the new sign.

    Args:
        value: as a function of the time since the step began, s.
        before: its value at 0.
        after: its value at ``dt``, of the other sign, or zero.
        dt: time step, s; negative for integration backwards in time.
    """
    left, right = 0.0, 1.0
    low, high = before, after
    side = 0
    for _ in range(_LIMIT):
        if right - left <= _RESOLUTION or high == 0.0:
            break
        middle = right - high * (right - left) / (high - low)
        if not left < middle < right:
            middle = 0.5 * (left + right)
        now = value(middle * dt)
        if (now < 0.0) == (before < 0.0) and now != 0.0:
            left, low = middle, now
            high = 0.5 * high if side == -1 else high
            side = -1
        else:
            right, high = middle, now
            low = 0.5 * low if side == 1 else low
            side = 1
    return right * dt
