# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The plots of a live page: energy of the closed loop, power into the robot, task error."""

from functools import partial

import viser
from vms_ph.msg import ControllerState, Power

from vms_ph_io.audit.energy_split import LawSplit, parts_of_law

from ..messages.conversions import NANOSECONDS, from_stamp
from .energy_flow import PORT_WORDS
from .strip_chart import StripChart


class LivePlots:
    """Plots over the last seconds.

    Attributes:
        strips: the plots.
    """

    def __init__(self, server: viser.ViserServer, law: LawSplit) -> None:
        """Add them to the page; ``law`` tells how the kinetic energy is divided."""
        self._law = law
        self._energy = StripChart(server, "energy of the closed loop", "J")
        self._power = StripChart(server, "power into the robot", "W")
        self._error = StripChart(server, "task error", "m")
        self.strips = (self._energy, self._power, self._error)
        self._start: int | None = None

    def on_power(self, message: Power) -> None:
        """Take the powers of the ports into account."""
        powers = {
            word: getattr(message, port)
            for port, word in PORT_WORDS.items()
            if self._law.moving or word != "base"
        }
        powers.update(zip(message.tool_names, message.tool_power, strict=False))
        time = self._seconds(from_stamp(message.header.stamp))
        self._power.add(time, {**powers, "-friction": -message.dissipated})

    def on_control(self, message: ControllerState) -> None:
        """Take the record of the law into account."""
        time = self._seconds(from_stamp(message.header.stamp))
        parts = parts_of_law(partial(getattr, message), self._law.split)
        self._energy.add(time, {"total": message.closed_loop_energy, **parts})
        self._error.add(time, {"distance to the reference": message.task_error})

    def draw(self) -> None:
        """Send them to the page."""
        for strip in self.strips:
            strip.draw()

    def _seconds(self, stamp: int) -> float:
        if self._start is None or stamp < self._start:
            self._start = stamp
        return (stamp - self._start) / NANOSECONDS
