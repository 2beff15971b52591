# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Two robots that are coupled by springs over a network, passive for any delay and loss."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, OptionError

from .servo_guard import GuardedCommand, PositionGuard


@dataclass(frozen=True, slots=True)
class TeleoperationPacket:
    """What one side sends to the other.

    Attributes:
        number: of the packet, from 1 on.
        positions: (n,) of the joints of the sender, rad or m.
        energy: energy that the packet hands over, J.
    """

    number: int
    positions: Array
    energy: float


class TeleoperationSide:
    """One of two robots, each of which is pulled to where the other one was last heard of.

    The servos of a side are the spring of the coupling, and its tank pays for their commands. A
    packet carries a share of the tank with it, so that what a person puts in at one side can be
    given at the other (two layers: Franken et al. 2011). What is lost on the way is lost: both
    sides together never give more than their tanks held at the start, for any delay, jitter, loss
    or repetition of packets.

    Attributes:
        guard: of the servos of this side.
        reserve: energy that stays, J.

    Args:
        guard: of the servos of this side.
        share: share of the energy above ``reserve`` that a packet hands over, 0 to 1.
        reserve: energy that stays, J.
        mapping: function from the positions of the other side (m,) to commands of this side (n,),
            for other kinematics; None where both are the same.

    Raises:
        OptionError: share or reserve is out of range.
    """

    def __init__(
        self,
        guard: PositionGuard,
        *,
        share: float = 0.5,
        reserve: float = 0.0,
        mapping: Callable[[Array], npt.ArrayLike] | None = None,
    ) -> None:
        if not 0.0 <= share <= 1.0 or not 0.0 <= reserve < np.inf:
            raise OptionError(
                "share must be from 0 to 1 and reserve an energy, J, of at least 0; given: "
                f"{share!r}, {reserve!r}"
            )
        self.guard, self._share, self.reserve, self._mapping = guard, share, reserve, mapping
        self._sent_count = self._last_number = 0
        self._command: npt.ArrayLike | None = None
        self._positions = np.empty(0)

    def engage(self, positions: npt.ArrayLike) -> None:
        """Begin at measured positions (n,), with a tank at its initial level."""
        self.guard.engage(positions)
        self._positions, self._command = np.array(positions, float), None

    def receive(self, packet: TeleoperationPacket) -> None:
        """Take a packet of the other side; one that is late or repeated is left out."""
        if packet.number <= self._last_number:
            return
        self._last_number = packet.number
        if 0.0 < packet.energy < np.inf:
            self.guard.tank.refill(packet.energy)
        target = packet.positions
        self._command = target if self._mapping is None else self._mapping(target)

    def update(self, positions: npt.ArrayLike, dt: float) -> GuardedCommand:
        """Return the command of the servos; before the first packet they hold.

        Args:
            positions: (n,) of the joints as measured, rad or m.
            dt: time since the last update, s.
        """
        measured_positions = np.array(positions, float)
        command = measured_positions if self._command is None else self._command
        guarded_command = self.guard.update(measured_positions, command, dt)
        if np.isfinite(measured_positions).all():
            self._positions = measured_positions
        return guarded_command

    def send(self) -> TeleoperationPacket:
        """Return a packet for the other side; the energy in it leaves the tank."""
        self._sent_count += 1
        surplus = max(0.0, self.guard.tank.level - self.reserve)
        handed_energy = self.guard.tank.drain(self._share * surplus)
        return TeleoperationPacket(self._sent_count, self._positions, handed_energy)
