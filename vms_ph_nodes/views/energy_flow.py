# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The flow of energy through a robot and through its closed loop, between two moments.

Powers are means: changes of energies over the time between the moments. They therefore add up
exactly, as the energy balance does.
"""

from functools import partial

from vms_ph.msg import ControllerState, Energy, Power

from vms_ph_dynamics.forms import PORTS
from vms_ph_io.energy_split import EnergySplit, parts_of_law, parts_of_robot

from ..messages.conversions import NANOSECONDS, from_stamp
from .sankey import Flow, Stream

# Dampings of a law, W.
_DAMPINGS = ("damping_task", "damping_null", "damping_base", "damping_shape")


class MeanPowers:
    """Means of powers between one set of energies and the next."""

    def __init__(self) -> None:
        self._before: tuple[int, dict[str, float]] | None = None

    def begin(self) -> None:
        """Begin anew, with a new energy balance."""
        self._before = None

    def between(
        self, now: int, energies: dict[str, float]
    ) -> tuple[float, dict[str, float]] | None:
        """Return the time since the last call, s, and powers, W, at first zero.

        None where no time passed.

        Args:
            now: a stamp, ns.
            energies: by name, J.
        """
        before, self._before = self._before, (now, energies)
        if before is None or before[1].keys() != energies.keys():
            return 0.0, dict.fromkeys(energies, 0.0)
        if now <= before[0]:
            return None
        seconds = (now - before[0]) / NANOSECONDS
        return seconds, {name: (e - before[1][name]) / seconds for name, e in energies.items()}


class RobotFlow(MeanPowers):
    """The flow through the power ports of the robot."""

    def flow(self, power: Power, energy: Energy, split: EnergySplit, base: bool) -> Flow | None:
        """Return the flow since the last call, at first without powers; None where no time passed.

        Args:
            power: energy balance.
            energy: of the same stamp.
            split: of the kinetic energy.
            base: whether the port of the base is one.
        """
        ports = {
            name: getattr(power, f"{name}_energy")
            for name in PORTS
            if base or name != "wrench_base"
        }
        ports.update(zip(power.tool_names, power.tool_energy, strict=False))
        stores = parts_of_robot(partial(getattr, energy), split)
        others = {"dissipated": power.dissipated_energy, "unaccounted": power.unaccounted_energy}
        energies = {**ports, **stores, **others}
        passed = self.between(from_stamp(power.header.stamp), energies)
        if passed is None:
            return None
        seconds, rates = passed

        def streams(*names: str) -> tuple[Stream, ...]:
            return tuple(Stream(name, rates[name], energies[name]) for name in names)

        # What is unaccounted for is stored, but was not supplied: a source.
        return Flow(streams(*ports, "unaccounted"), streams(*stores, "dissipated"), seconds)


class LoopFlow(MeanPowers):
    """The flow through the closed loop: its energy is the storage function that the law shapes."""

    def __init__(self) -> None:
        # J, since the law was first heard or the energy balance began anew.
        self._works = {"reference": 0.0, "damping": 0.0, "pushes": 0.0}
        self._pushes: float | None = None
        self._last: ControllerState | None = None
        super().__init__()

    def begin(self) -> None:
        """Begin anew, with a new energy balance."""
        self._works = dict.fromkeys(self._works, 0.0)
        self._pushes, self._last = None, None
        super().begin()

    def add(self, message: ControllerState) -> None:
        """Integrate the powers of a record, by the trapezoidal rule."""
        last, self._last = self._last, message
        if last is None:
            return
        seconds = (from_stamp(message.header.stamp) - from_stamp(last.header.stamp)) / NANOSECONDS
        if not 0.0 < seconds < 1.0:  # it began anew, or there is a gap
            super().begin()
            return
        for sample in (last, message):
            self._works["reference"] += 0.5 * seconds * sample.reference_power
            self._works["damping"] += 0.5 * seconds * sum(getattr(sample, x) for x in _DAMPINGS)

    def pushed(self, power: Power) -> None:
        """Take into account what the end effector and the tools have supplied."""
        pushes = power.wrench_end_effector_energy + sum(power.tool_energy)
        if self._pushes is not None:
            self._works["pushes"] += pushes - self._pushes
        self._pushes = pushes

    def flow(self, split: EnergySplit) -> Flow | None:
        """Return the flow since the last call, at first without powers; None where no time passed.

        None also where the law has said nothing yet.
        """
        message = self._last
        if message is None:
            return None
        stores = parts_of_law(partial(getattr, message), split)
        tank = {"tank": message.tank_level} if message.tank_level else {}
        energies = {**stores, **tank, **self._works}
        passed = self.between(from_stamp(message.header.stamp), energies)
        if passed is None:
            return None
        seconds, rates = passed

        def stream(name: str, sign: float = 1.0) -> Stream:
            return Stream(name, sign * rates[name], energies[name])

        sinks = [*map(stream, stores), stream("damping")]
        sources = [stream("pushes"), stream("reference"), *(stream(name, -1.0) for name in tank)]
        # Friction, gravity that is not compensated exactly, sampling and clipping.
        rest = sum(sink.power for sink in sinks) - sum(sink.power for sink in sources)
        sources.append(Stream("rest", rest, float("nan")))
        return Flow(tuple(sources), tuple(sinks), seconds, "since this page was opened")
