# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Gains that follow their changes without a step in the effort."""

from dataclasses import fields, replace
from typing import Any, Generic, TypeVar

G = TypeVar("G", bound=Any)

# Time in which a gain crosses the whole range between its bounds, s.
RAMP_DURATION = 1.0

# Largest rate at which a limit changes, of its value, 1/s.
LIMIT_RATE = 10.0


class GainRamp(Generic[G]):
    """The gains in force: each takes at least :data:`RAMP_DURATION` to cross its whole range.

    A limit changes by at most a hundredth in a millisecond. Where there was none, it begins at what
    it limits now, and where it is removed it ends at its bound.
    After a restart the next values are taken as they are: no effort depends on earlier ones.

    Attributes:
        limited: what limited quantities have now, by the name of the limit.
    """

    def __init__(self, gains: G, limited: dict[str, float] | None = None) -> None:
        self.limited = {} if limited is None else limited
        self.restart(gains)

    def restart(self, gains: G) -> None:
        """Take these gains, and the next ones, as they are."""
        self.gains, self._has_started = gains, False

    def follow(self, target: G, dt: float) -> G:
        """Move towards the gains set, for a time step in s, and return those in force."""
        if not self._has_started or target is self.gains or target == self.gains:
            self.gains, self._has_started = target, True
            return target
        range_share, new_gains = _ramp_share(dt), {}
        for gain in fields(target):
            low, high, ramp = (gain.metadata[key] for key in ("low", "high", "ramp"))
            old_value, new_value = getattr(self.gains, gain.name), getattr(target, gain.name)
            if ramp == "range":
                new_gains[gain.name] = _approach(old_value, new_value, range_share * (high - low))
            elif ramp == "ratio" and old_value != new_value:
                ratio = 1.0 + LIMIT_RATE * RAMP_DURATION * range_share
                end = new_value or high
                start = old_value or max(end, min(self.limited.get(gain.name, high), high))
                value = min(max(end, start / ratio), start * ratio)
                new_gains[gain.name] = new_value if value == end else value
        self.gains = replace(target, **new_gains)
        return self.gains


class SwitchRamp:
    """The share, in [0, 1], of a part of a law that is switched on or off.

    The first position of the switch is taken as it is.
    """

    def __init__(self) -> None:
        self.share, self._has_started = 0.0, False

    def follow(self, is_on: bool, dt: float) -> float:
        """Move towards one or zero, for a time step in s, and return the share."""
        target = 1.0 if is_on else 0.0
        step = _ramp_share(dt) if self._has_started else 1.0
        self.share, self._has_started = _approach(self.share, target, step), True
        return self.share


def _ramp_share(dt: float) -> float:
    return min(dt / RAMP_DURATION, 1.0) if dt > 0.0 else 0.0


def _approach(start: float, target: float, step: float) -> float:
    return min(max(target, start - step), start + step)
