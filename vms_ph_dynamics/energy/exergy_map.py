# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Where exergy is stored, and who has destroyed it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ExergyMap:
    """Where exergy is stored and who has destroyed how much since the last reset.

    Attributes:
        time: simulated time, s.
        stored: exergy by store, J.
        destroyed: exergy by destroyer, J: ``"joint/how"``, ``"rotor_k/how"`` or the name alone.
        supplied: exergy by the ports of the robot that are outside of it, J.
        residual: change of what is stored, less what was supplied, plus what was destroyed, J.
        temperatures: by name, K.
        voltage: of the bus, V.
        current: out of the battery, A.
        level: charge of the battery as a share of all.

    Where no battery is simulated its voltage, current and level are zero.
    """

    time: float
    stored: Mapping[str, float]
    destroyed: Mapping[str, float]
    supplied: Mapping[str, float]
    residual: float
    temperatures: Mapping[str, float]
    voltage: float
    current: float
    level: float
