# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy balance of a robot from sample to sample, over any number of named ports."""

from collections.abc import KeysView, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..evaluation import Evaluation
from ..forms import PORTS, Ports

# Port energies are totals: samples without them are skipped for at most this time, ns.
_MAX_SKIP_NS = 1_000_000_000


@dataclass(frozen=True)
class PortEnergies:
    """Energies since a simulation was last reset, integrated by the simulation itself.

    Attributes:
        supplied: energy by port, J; positive into the robot.
        dissipated: energy dissipated by friction, J.
        resets: number of resets so far.
    """

    supplied: Mapping[str, float]
    dissipated: float = 0.0
    resets: int = 0


@dataclass(frozen=True)
class EnergySample:
    """Energy and power of a robot at one sample.

    Attributes:
        time: ns.
        energy: total energy, J.
        power: power by port, W; positive into the robot.
        dissipated_power: power dissipated by friction, W.
        simulated: port energies of the simulation; None where there is none.
    """

    time: int
    energy: float
    power: Mapping[str, float]
    dissipated_power: float
    simulated: PortEnergies | None = None


@dataclass
class EnergyAudit:
    """Compares the stored energy with the port energies, since the first sample or the last reset.

    Energies that a simulation has integrated are used as they are; otherwise the powers of the
    samples are integrated by the trapezoidal rule. A sample with other ports, an earlier time or
    another source of the energies begins a new audit.

    Attributes:
        port_energy: supplied since the audit began, by port, J.
        dissipated: energy dissipated by friction since then, J.
        stored: change of the total energy since then, J.
        unaccounted_power: rate of change of the unaccounted energy over the last sample, W.
        is_simulated: whether the port energies are those of the simulation.
    """

    port_energy: dict[str, float] = field(default_factory=dict)
    dissipated: float = 0.0
    stored: float = 0.0
    unaccounted_power: float = 0.0
    is_simulated: bool = False
    _first_sample: EnergySample | None = None
    _last_sample: EnergySample | None = None

    @property
    def unaccounted_energy(self) -> float:
        """Unaccounted energy, ``stored - supplied + dissipated``, J."""
        return self.stored - sum(self.port_energy.values()) + self.dissipated

    def add(self, sample: EnergySample) -> None:
        """Add the next sample to the balance."""
        first, last = self._first_sample, self._last_sample
        lacks_energy = last is not None and last.simulated is not None and sample.simulated is None
        if lacks_energy and last is not None and 0 <= sample.time - last.time < _MAX_SKIP_NS:
            return  # a sample with port energies arrived shortly before
        if first is None or last is None or not _is_continuation(last, sample):
            self._first_sample = self._last_sample = sample
            self.port_energy = dict.fromkeys(_port_names(sample), 0.0)
            self.dissipated = self.stored = self.unaccounted_power = 0.0
            self.is_simulated = sample.simulated is not None
            return
        previous_unaccounted, interval = self.unaccounted_energy, (sample.time - last.time) * 1e-9
        if sample.simulated is not None and first.simulated is not None:
            supplied, at_start = sample.simulated.supplied, first.simulated.supplied
            self.port_energy = {name: supplied[name] - at_start[name] for name in at_start}
            self.dissipated = sample.simulated.dissipated - first.simulated.dissipated
        else:
            for name in self.port_energy:
                self.port_energy[name] += 0.5 * interval * (last.power[name] + sample.power[name])
            self.dissipated += 0.5 * interval * (last.dissipated_power + sample.dissipated_power)
        self.stored = sample.energy - first.energy
        self.unaccounted_power = (self.unaccounted_energy - previous_unaccounted) / interval
        self._last_sample = sample


def _port_names(sample: EnergySample) -> KeysView[str]:
    return (sample.power if sample.simulated is None else sample.simulated.supplied).keys()


def _is_continuation(last_sample: EnergySample, sample: EnergySample) -> bool:
    if sample.time <= last_sample.time or _port_names(sample) != _port_names(last_sample):
        return False
    if sample.simulated is None or last_sample.simulated is None:
        return sample.simulated is last_sample.simulated
    return sample.simulated.resets == last_sample.simulated.resets


class CompensatedSum(NamedTuple):
    """An energy as the sum of two numbers, so that a million small terms add up without rounding.

    Attributes:
        value: J.
        remainder: the part below the last place of ``value``, J.
    """

    value: float
    remainder: float = 0.0

    def plus(self, energy: float) -> "CompensatedSum":
        """Return the sum with one more term (Knuth's algorithm)."""
        addend = self.remainder + energy
        total = self.value + addend
        change = total - self.value
        return CompensatedSum(total, (self.value - (total - change)) + (addend - change))


@dataclass(frozen=True)
class ExergyMap:
    """Where exergy is stored and who has destroyed how much since the last reset.

    Attributes:
        time: simulated time, s.
        stored: exergy by store, J.
        destroyed: exergy by destroyer, J: ``"joint/how"``, ``"rotor_k/how"`` or the name alone.
        supplied: exergy by the ports of the robot that are outside of it, J.
        residual: change of what is stored, less what was supplied, plus what was destroyed, J.
        temperatures: temperatures by name of the part, K.
        voltage: voltage of the bus, V.
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


class PowerQuadrature:
    """The integral of port powers over time, with the weights of a scheme.

    Attributes:
        supplied: energy into the robot at each port, J.
        dissipated: energy dissipated by friction and drag, J.
    """

    __slots__ = ("dissipated", "supplied")

    def __init__(self) -> None:
        self.supplied = dict.fromkeys(PORTS, 0.0)
        self.dissipated = 0.0

    def add(self, efforts: Ports, d: Evaluation, duration: float) -> None:
        """Add the energy supplied by the efforts at a state, held for ``duration`` s."""
        for name, power in efforts.supplied(d).items():
            self.supplied[name] = self.supplied.get(name, 0.0) + duration * power
        self.dissipated += duration * efforts.dissipated(d)

    @property
    def sum(self) -> float:
        """Change of the energy of the robot, J: supplied less dissipated."""
        return sum(self.supplied.values()) - self.dissipated
