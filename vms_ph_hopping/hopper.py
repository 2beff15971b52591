# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integration of a leg through its phases, with every phase change located in time."""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from .leg import Phase
from .leg_on_floor import CHANNELS, LegOnFloor
from .radau import CollocationStep, RadauStepper

# Fractions of a step at which the state is searched for a phase change.
_SEARCH_FRACTIONS = (0.2, 0.45, 0.7, 0.85, 1.0)
# A phase change is located until the foot is within this distance of the surface, m.
_ROOT_TOLERANCE = 1e-13
LIFTOFF_HEIGHT = 1e-8
"""Height of the foot above the floor at which it counts as lifted off, m.

The law and the tangential force of the floor differ above and below zero: where both drive the foot
back to zero, as after a touch-down with a strong regulator, it would change sides infinitely often
in a finite time.
"""
# First steps, s: after touch-down the dashpot stops the light foot within microseconds.
_FIRST_STEP_STIFF, _FIRST_STEP = 1e-6, 1e-4


class EventKind(enum.IntEnum):
    """The kinds of phase changes."""

    TOUCH_DOWN = 0
    LIFT_OFF = 1
    RELIEF = 2
    PRESSING = 3
    SLIP = 4
    GRIP = 5


@dataclass(frozen=True)
class ContactEvent:
    """A phase change.

    Attributes:
        time: s.
        kind: of the change.
        state: (2 nv + 1,) of the system, before the floor is released or its anchor set.
        energies: (channels,) through the channels since the start, J.
    """

    time: float
    kind: EventKind
    state: Array
    energies: Array


class Hopper:
    """The state of a leg on a floor, its port energies and its events over time.

    The stiff stance is integrated by an L-stable collocation scheme; the phases end exactly at
    touch-down, at the loss of pressure and at lift-off, so that no step extends over a jump and the
    energy balance closes to the accuracy of the scheme.

    Attributes:
        system: leg, law and floor.
        phase: of the motion.
        energies: (channels,) through the channels of the system since the start, J.
        events: all phase changes so far.
    """

    def __init__(
        self,
        system: LegOnFloor,
        q: Array,
        v: Array,
        *,
        phase: Phase | None = None,
        tolerance: float = 1e-7,
        largest_step: float = 2e-2,
        liftoff_height: float = LIFTOFF_HEIGHT,
        with_energies: bool = True,
        stages: int = 5,
    ) -> None:
        """Start at a state, at time zero.

        Args:
            system: leg, law and floor.
            q: (nq,) configuration.
            v: (nv,).
            phase: to start in; determined from the height of the foot when None. It must be given
                at an event, where the foot is at height zero.
            tolerance: of the error of a step, relative to a state of the order of one.
            largest_step: s.
            liftoff_height: height of the foot that ends contact, m; see :data:`LIFTOFF_HEIGHT`.
            with_energies: whether the energies are integrated; otherwise they stay zero.
            stages: of the scheme, an odd number; fewer cost less where efforts are held for samples
                that are shorter than the steps of the scheme.

        Raises:
            StateError: q or v is not a state of the robot.
        """
        d = system.leg.model.evaluate(q, v)
        y, nv = system.state(d.q, d.v), system.nv
        if phase is None:
            phase = Phase.FLIGHT if system.foot_height(y)[0] >= 0.0 else Phase.PRESSED
        if phase is Phase.PRESSED:
            phase = system.contact_phase(y)
        self.system, self.phase = system, phase
        zeros = np.zeros(len(system.channels))
        self._stepper = RadauStepper(
            lambda x: system.rate(self.phase, x),
            (lambda x: system.powers(self.phase, x)) if with_energies else (lambda x: zeros),
            y,
            scale=np.concatenate([np.full(nv, 0.1), np.ones(nv), [0.01]]),
            tolerance=tolerance,
            first_step=_FIRST_STEP if phase is Phase.FLIGHT else _FIRST_STEP_STIFF,
            largest_step=largest_step,
            stages=stages,
        )
        self._liftoff_height, self._has_energies = liftoff_height, with_energies
        self.energies = zeros
        self.events: list[ContactEvent] = []
        self._margins = {
            Phase.FLIGHT: self._flight_margin,
            Phase.PRESSED: self._pressed_margin,
            Phase.RELIEVED: self._relieved_margin,
            Phase.SLIDES_FORWARD: self._sliding_margin,
            Phase.SLIDES_BACK: self._sliding_margin,
        }

    @property
    def time(self) -> float:
        """Time since the start, s."""
        return self._stepper.time

    @property
    def state(self) -> Array:
        """The state of the system, (2 nv + 1,)."""
        return self._stepper.state

    def steps_until(self, time: float) -> Iterator[CollocationStep]:
        """Integrate up to a time; yield each step before its energies are added.

        Raises:
            StiffStepError: the motion cannot be integrated.
        """
        stepper = self._stepper
        # Rounding may leave a remainder smaller than this.
        while stepper.time < time - 1e-12:
            step, event = self._end_at_event(stepper.propose(time))
            stepper.accept(step)
            yield step
            self.energies = self.energies + step.energies
            if event is not None:
                self._change_phase(event)

    def _end_at_event(self, step: CollocationStep) -> tuple[CollocationStep, EventKind | None]:
        """End a step at the first phase change within it."""
        margins, last_fraction = self._margins[self.phase], 0.0
        for fraction in _SEARCH_FRACTIONS:
            kind = margins(step.state(fraction))[1]
            if kind is not None:
                root = self._margin_root(
                    lambda p: margins(step.state(p))[0], last_fraction, fraction
                )
                # Another kind of phase change may occur before the crossing.
                return self._refine(step, root, margins(step.state(root))[1] or kind)
            last_fraction = fraction
        return step, None

    def _refine(
        self, step: CollocationStep, fraction: float, kind: EventKind
    ) -> tuple[CollocationStep, EventKind]:
        """Repeat a step until it ends at the event; the scheme is less accurate within a step."""
        margins = self._margins[self.phase]
        h = fraction * step.length
        high_fraction = min(1.0, fraction + 1e-3)
        low_fraction = high_fraction - 2e-3
        slope = margins(step.state(high_fraction))[0] - margins(step.state(low_fraction))[0]
        slope /= (high_fraction - low_fraction) * step.length
        refined_step = step
        for _ in range(6):
            attempt = self._stepper.attempt(h)
            if attempt is None:
                break
            refined_step = attempt
            margin = margins(refined_step.end_state)[0]
            if abs(margin) < _ROOT_TOLERANCE or slope >= 0.0:
                break
            # Never before the start, which a grazing start would otherwise give.
            h = max(h - margin / slope, 0.1 * h)
        return refined_step, kind

    @staticmethod
    def _margin_root(margin: Callable[[float], float], low: float, high: float) -> float:
        """Return where a margin that is not negative at ``low`` has just become negative.

        The Illinois rule is used: the secant method, halving the value of an end that is retained.
        """
        value_low, value_high = margin(low), margin(high)
        for _ in range(60):
            if high - low < 1e-12 or value_high > -_ROOT_TOLERANCE:
                break
            # Kept away from the ends, which a secant through a tiny value would return
            # indefinitely.
            fraction = min(max(value_low / (value_low - value_high), 1e-3), 1.0 - 1e-3)
            secant_root = low + fraction * (high - low)
            root_margin = margin(secant_root)
            if root_margin < 0.0:
                high, value_high, value_low = secant_root, root_margin, 0.5 * value_low
            else:
                low, value_low, value_high = secant_root, root_margin, 0.5 * value_high
        return high

    def _flight_margin(self, y: Array) -> tuple[float, EventKind | None]:
        height = self.system.foot_height(y)[0]
        return height, EventKind.TOUCH_DOWN if height < 0.0 else None

    def _pressed_margin(self, y: Array) -> tuple[float, EventKind | None]:
        depth = self.system.pressure_depth(y)
        margin = depth if self.system.floor.friction is None else self.system.cone_margin(y, 0.0)
        if depth < 0.0:
            return min(depth, margin), EventKind.RELIEF
        return min(depth, margin), EventKind.SLIP if margin < 0.0 else None

    def _sliding_margin(self, y: Array) -> tuple[float, EventKind | None]:
        force_sign = 1.0 if self.phase is Phase.SLIDES_BACK else -1.0
        depth, excess = self.system.pressure_depth(y), -self.system.cone_margin(y, force_sign)
        if depth < 0.0:
            return min(depth, excess), EventKind.RELIEF
        return min(depth, excess), EventKind.GRIP if excess < 0.0 else None

    def _relieved_margin(self, y: Array) -> tuple[float, EventKind | None]:
        height, depth = self.system.foot_height(y)[0], self.system.pressure_depth(y)
        height -= self._liftoff_height
        if height > 0.0:
            return -height, EventKind.LIFT_OFF
        return -max(height, depth), EventKind.PRESSING if depth > 0.0 else None

    def _change_phase(self, kind: EventKind) -> None:
        stepper, y = self._stepper, self._stepper.state.copy()
        self.events.append(
            ContactEvent(stepper.time, kind, frozen(y.copy()), frozen(self.energies.copy()))
        )
        if kind is EventKind.LIFT_OFF and self._has_energies:
            # The energy still stored tangentially in the floor is lost when its hold is released.
            stored_energy = self.system.floor_force(self.phase, self.system.leg_state(y), y).stored
            self.energies = self.energies.copy()
            self.energies[CHANNELS.index("floor_dissipated")] += stored_energy
        if kind in (EventKind.LIFT_OFF, EventKind.TOUCH_DOWN):
            y[-1] = 0.0
        if kind is EventKind.LIFT_OFF:
            self.phase = Phase.FLIGHT
        elif kind is EventKind.RELIEF:
            self.phase = Phase.RELIEVED
        else:
            self.phase = Phase.PRESSED if kind is EventKind.GRIP else self.system.contact_phase(y)
            if kind is EventKind.SLIP and self.phase is Phase.PRESSED:
                # Located too early by a rounding error.
                self.phase = self.system.sliding_phase(y)
        is_stiff = kind in (EventKind.TOUCH_DOWN, EventKind.PRESSING)
        stepper.restart(y, _FIRST_STEP_STIFF if is_stiff else _FIRST_STEP)
