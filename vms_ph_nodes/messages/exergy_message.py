# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of the exergy map of a simulation to messages."""

from collections.abc import Mapping

from std_msgs.msg import Header
from vms_ph.msg import Exergy

from vms_ph_dynamics.energy.audit import ExergyMap


class ExergyMessages:
    """Makes messages of successive maps, with the powers between them."""

    def __init__(self) -> None:
        self._last: tuple[int, float, Mapping[str, float]] | None = None

    def next(self, header: Header, exergy: ExergyMap, resets: int) -> Exergy:
        """Return the message of a map."""
        powers = dict.fromkeys(exergy.destroyed, 0.0)
        if self._last is not None and self._last[0] == resets and exergy.time > self._last[1]:
            passed, before = exergy.time - self._last[1], self._last[2]
            # What is not named before has destroyed nothing before: a thruster that starts to turn.
            powers = {
                name: (e - before.get(name, 0.0)) / passed for name, e in exergy.destroyed.items()
            }
        self._last = resets, exergy.time, exergy.destroyed
        return Exergy(
            header=header,
            stores=list(exergy.stored),
            stored=list(exergy.stored.values()),
            destroyers=list(exergy.destroyed),
            destroyed=list(exergy.destroyed.values()),
            power=list(powers.values()),
            supplied=sum(exergy.supplied.values()),
            residual=exergy.residual,
            bodies=list(exergy.temperatures),
            temperatures=list(exergy.temperatures.values()),
            voltage=exergy.voltage,
            current=exergy.current,
            level=exergy.level,
            resets=resets,
        )
