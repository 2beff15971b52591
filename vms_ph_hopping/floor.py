# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A viscoelastic floor as a power port, with stored and dissipated energy [B, 4.1.4]."""

import enum
from dataclasses import dataclass
from math import inf

from vms_ph_dynamics.errors import StateError


class Phase(enum.IntEnum):
    """The contact of a foot: none, sticking with pressure, without pressure, or sliding."""

    FLIGHT = 0
    PRESSED = 1
    RELIEVED = 2
    SLIDES_FORWARD = 3
    SLIDES_BACK = 4


@dataclass(frozen=True, slots=True)
class FloorForce:
    """The force and the energy of the floor at an instant.

    Attributes:
        tangential, normal: force on the foot, N.
        slide: rate of the tangential deflection of the floor, m/s; equal to the speed of a sticking
            foot.
        stored: energy in the floor's springs, J.
        dissipated: power dissipated by the floor, W; never negative.
    """

    tangential: float
    normal: float
    slide: float
    stored: float
    dissipated: float


@dataclass(frozen=True)
class Floor:
    """A horizontal floor at height zero with springs and dashpots.

    The normal force is ``F_y = max(-K y - D ydot, 0)`` while the foot is below zero; [B (4.13),
    (4.14)] print ``+K``, with which the floor never pushes. The tangential force is
    ``F_x = -K s - D sdot`` with the deflection s from an anchor that is set at touch-down. At
    lift-off the anchor is released, and the energy still stored in the deflection is lost.

    Attributes:
        stiffness, damping: K and D, (tangential, normal), N/m and N s/m.
        friction: coefficient mu of the cone ``|F_x| <= mu F_y``: the anchor slips where the force
            would leave it, and there is no tangential force without pressure. None is the floor of
            [B]: it holds the foot sideways while the foot is below zero, with or without pressure.

    Raises:
        StateError: stiffness or damping is not positive, or the friction is negative.
    """

    stiffness: tuple[float, float] = (10000.0, 10000.0)
    damping: tuple[float, float] = (1000.0, 1000.0)
    friction: float | None = None

    def __post_init__(self) -> None:
        values = (*self.stiffness, *self.damping)
        if not all(0.0 < value < inf for value in values):
            raise StateError(f"stiffness and damping of a floor must be positive; given: {values}")
        if self.friction is not None and not 0.0 <= self.friction < inf:
            raise StateError(f"friction must be None or not negative; given: {self.friction}")

    def pressure(self, height: float, rate: float) -> float:
        """Return ``-K y - D ydot``, N; the foot presses where it is positive.

        Args:
            height: y of the foot, m.
            rate: its derivative, m/s.
        """
        return -self.stiffness[1] * height - self.damping[1] * rate

    def excess(self, height: float, rate: float, deflection: float, along: float) -> float:
        """Return the excess of a sticking foot's force over the cone, N; signed as the force.

        The arguments are those of :meth:`force`.
        """
        held = -self.stiffness[0] * deflection - self.damping[0] * along
        most = inf if self.friction is None else self.friction * self.pressure(height, rate)
        return max(held - most, 0.0) if held > 0.0 else min(held + most, 0.0)

    def grip(self, height: float, rate: float, deflection: float, along: float) -> Phase:
        """Return whether a foot that presses sticks or slides, and its direction.

        The arguments are those of :meth:`force`.
        """
        out = self.excess(height, rate, deflection, along)
        if out == 0.0:
            return Phase.PRESSED
        return Phase.SLIDES_BACK if out > 0.0 else Phase.SLIDES_FORWARD

    def force(
        self, phase: Phase, height: float, rate: float, deflection: float, along: float
    ) -> FloorForce:
        """Return the force on a foot and the energy of the floor.

        Args:
            phase: of the motion, which the caller switches at the events.
            height: y of the foot, m.
            rate: its derivative, m/s.
            deflection: s, m.
            along: tangential velocity of the foot, m/s.
        """
        if phase is Phase.FLIGHT:
            return FloorForce(0.0, 0.0, 0.0, 0.0, 0.0)
        pressed = phase is not Phase.RELIEVED
        normal = self.pressure(height, rate) if pressed else 0.0
        k, d = self.stiffness[0], self.damping[0]
        if phase is Phase.PRESSED or self.friction is None:
            tangential, slide = -k * deflection - d * along, along
        else:
            # On the cone the anchor moves with the foot; without pressure the deflection relaxes.
            sense = {Phase.SLIDES_FORWARD: -1.0, Phase.SLIDES_BACK: 1.0}.get(phase, 0.0)
            tangential = sense * self.friction * normal
            slide = -(tangential + k * deflection) / d
        stored = 0.5 * (k * deflection**2 + self.stiffness[1] * height**2)
        # The power supplied at the foot less that stored in the springs. A floor without pressure
        # relaxes and dissipates its stored energy.
        dissipated = -tangential * along - k * deflection * slide
        dissipated += self.damping[1] * rate**2 if pressed else -self.stiffness[1] * height * rate
        return FloorForce(tangential, normal, slide, stored, dissipated)
