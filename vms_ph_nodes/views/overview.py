# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The top of the page: whether energy is conserved, and where it goes; how the nodes are.

The powers of a flow of energy are means: changes of energies over the time between two moments.
They therefore add up exactly, as the energy balance does.
"""

import time
from collections import deque
from contextlib import suppress
from functools import partial
from html import escape
from typing import Any

import viser
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from vms_ph.msg import ControllerState, Energy, Exergy, Power

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.forms import PORTS
from vms_ph_io.energy_split import EnergySplit, LawSplit, parts_of_law, parts_of_robot
from vms_ph_io.wings import hook

from ..messages.conversions import NS_PER_SEC, from_stamp
from ..node.health import NO_INPUT_START, PAUSED, SPEED_KEY, node_name
from .sankey import Flow, Sankey, Scale, Stream, quantity

# Shares of the energy that was moved, above which what is unaccounted for is pointed out.
_SMALL_SHARE, _LARGE_SHARE = 1e-3, 5e-2

_SMALLEST_ENERGY = 1e-12  # J

_MAX_DIGITS = 6  # at most, of an energy balance whose rounded terms do not add up with three

_MAX_SPEED = 1e3  # ratio of simulated to real time
_MAX_LETTERS = 500  # of a sentence of a node
_RATIO_SECONDS = 4.0  # over which the ratio to real time is a mean

_EXERGY = "battery to heat (exergy)"
_BASE_NAMES = {"fixed": "fixed base", "planar": "planar base", "floating": "floating base"}

_GOOD_COLOUR, _FAIR_COLOUR, _BAD_COLOUR, _GREY = "#007a53", "#b86200", "#c62f26", "#666666"
_STATUS_TEXTS = {
    ControllerState.OK: "in control",
    ControllerState.SATURATED: "at a limit",
    ControllerState.HOLDING: "holds the robot",
    ControllerState.DEGRADED: "degraded",
}


# Dampings of a law, W.
_DAMPINGS = ("damping_task", "damping_null", "damping_base", "damping_shape")


class MeanPowers:
    """Means of powers between one set of energies and the next."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin anew, with a new energy balance."""
        self._previous_energies: tuple[int, dict[str, float]] | None = None

    def mean_powers(
        self, stamp: int, energies: dict[str, float]
    ) -> tuple[float, dict[str, float]] | None:
        """Return the time since the last call, s, and powers, W, at first zero.

        None where no time passed.

        Args:
            stamp: a stamp, ns.
            energies: energies by name, J.
        """
        previous, self._previous_energies = self._previous_energies, (stamp, energies)
        if previous is None or previous[1].keys() != energies.keys():
            return 0.0, dict.fromkeys(energies, 0.0)
        if stamp <= previous[0]:
            return None
        span = (stamp - previous[0]) / NS_PER_SEC
        return span, {name: (e - previous[1][name]) / span for name, e in energies.items()}


class RobotFlow(MeanPowers):
    """The flow through the power ports of the robot."""

    def flow(self, power: Power, energy: Energy, split: EnergySplit, has_base: bool) -> Flow | None:
        """Return the flow since the last call, at first without powers; None where no time passed.

        Args:
            power: energy balance.
            energy: energy message of the same stamp.
            split: split of the kinetic energy.
            has_base: whether the port of the base is one.
        """
        ports = {n: getattr(power, f"{n}_energy") for n in PORTS if has_base or n != "wrench_base"}
        ports.update(zip(power.tool_names, power.tool_energy, strict=False))
        stores = parts_of_robot(partial(getattr, energy), split)
        losses = {"dissipated": power.dissipated_energy, "unaccounted": power.unaccounted_energy}
        energies = {**ports, **stores, **losses}
        if (mean_powers := self.mean_powers(from_stamp(power.header.stamp), energies)) is None:
            return None
        duration, powers = mean_powers

        def streams(*names: str) -> tuple[Stream, ...]:
            return tuple(Stream(name, powers[name], energies[name]) for name in names)

        # What is unaccounted for is stored, but was not supplied: a source.
        return Flow(streams(*ports, "unaccounted"), streams(*stores, "dissipated"), duration)


class LoopFlow(MeanPowers):
    """The flow through the closed loop: its energy is the storage function that the law shapes."""

    def restart(self) -> None:
        """Begin anew, with a new energy balance."""
        # J, since the law was first heard or the energy balance began anew.
        self._work_of = {"reference": 0.0, "damping": 0.0, "pushes": 0.0}
        self._push_energy: float | None = None
        self._last_state: ControllerState | None = None
        super().restart()

    def add(self, message: ControllerState) -> None:
        """Integrate the powers of a record, by the trapezoidal rule."""
        last, self._last_state = self._last_state, message
        if last is None:
            return
        duration = (from_stamp(message.header.stamp) - from_stamp(last.header.stamp)) / NS_PER_SEC
        if not 0.0 < duration < 1.0:  # it began anew, or there is a gap
            super().restart()
            return
        for sample in (last, message):
            self._work_of["reference"] += 0.5 * duration * sample.reference_power
            self._work_of["damping"] += 0.5 * duration * sum(getattr(sample, x) for x in _DAMPINGS)

    def add_pushes(self, power: Power) -> None:
        """Take into account what the end effector and the tools have supplied."""
        push_energy = power.wrench_end_effector_energy + sum(power.tool_energy)
        if self._push_energy is not None:
            self._work_of["pushes"] += push_energy - self._push_energy
        self._push_energy = push_energy

    def flow(self, split: EnergySplit) -> Flow | None:
        """Return the flow since the last call, at first without powers; None where no time passed.

        None also where the law has said nothing yet.
        """
        message = self._last_state
        if message is None:
            return None
        stores = parts_of_law(partial(getattr, message), split)
        tank = {"tank": message.tank_level} if message.tank_level else {}
        energies = {**stores, **tank, **self._work_of}
        if (mean_powers := self.mean_powers(from_stamp(message.header.stamp), energies)) is None:
            return None
        duration, powers = mean_powers

        def stream(name: str, sign: float = 1.0) -> Stream:
            return Stream(name, sign * powers[name], energies[name])

        sinks = [*map(stream, stores), stream("damping")]
        sources = [stream("pushes"), stream("reference"), *(stream(name, -1.0) for name in tank)]
        # Friction, gravity that is not compensated exactly, sampling and clipping.
        remainder = sum(sink.power for sink in sinks) - sum(sink.power for sink in sources)
        sources.append(Stream("rest", remainder, float("nan")))
        return Flow(tuple(sources), tuple(sinks), duration, "since this page was opened")


class Overview:
    """Verdict, status line and flow of energy; they are drawn a few times a second."""

    def __init__(self, server: viser.ViserServer, law: LawSplit) -> None:
        """Add them to the page; ``law`` tells how the kinetic energy is divided."""
        gui = server.gui
        self._law = law
        self._verdict = _badge("waiting for the robot …", _GREY)
        # The verdict and the flow stay in view, see the style of the page server.
        self._top = gui.add_html(f'<div class="vms-top">{self._verdict}</div>')
        self._flow_choice = gui.add_dropdown("flow through", ("robot", "closed loop"))
        self._status = gui.add_html("")
        self._destroyers = gui.add_html("", visible=False)
        self._balance_text, self._picture, self._notes = "", "", ["", ""]
        self._time_ratio = TimeRatio()
        self._robot_flow, self._loop_flow = RobotFlow(), LoopFlow()
        # The flow of exergy, and the module of the wing that draws it.
        self._exergy_flow: Any = None
        self._exergy_view: Any = None
        self._sankeys = {"robot": Sankey(), "closed loop": Sankey(), _EXERGY: Sankey()}
        self._energy: Energy | None = None
        self._balance_messages: tuple[Power, Energy] | None = None
        self._controller_state: ControllerState | None = None
        self._exergy: Exergy | None = None
        self._node_statuses: dict[str, DiagnosticStatus] = {}

    def set_robot(self, model: VMSModel, name: str) -> None:
        """Say what is shown: a robot, and the name by which a user knows it."""
        joints = f"{model.n} joint{'s' if model.n != 1 else ''}"
        self._notes[0] = (
            f"<b>{escape(name)}</b>, {_BASE_NAMES[model.base]}, {joints}, {model.total_mass:.3g} kg"
        )

    def show_hint(self) -> None:
        """Say how the robot is pushed, and where the other controls are."""
        self._notes[1] = "Hold <b>Shift</b> and drag a link to push it; more: tab <b>Control</b>."

    def on_energy(self, message: Energy) -> None:
        """Take the energies of the robot into account."""
        self._energy = message

    def on_power(self, message: Power) -> None:
        """Take the energy balance into account."""
        self._time_ratio.add(from_stamp(message.header.stamp))
        energy = self._energy
        if energy is not None and energy.header.stamp == message.header.stamp:
            self._balance_messages = message, energy
        # The first message of an energy balance.
        if not any((*_port_energies(message), message.dissipated_energy, message.stored)):
            self._robot_flow.restart()
            self._loop_flow.restart()
        self._loop_flow.add_pushes(message)

    def on_control(self, message: ControllerState) -> None:
        """Take the record of the law into account."""
        self._controller_state = message
        self._loop_flow.add(message)

    def on_exergy(self, message: Exergy) -> None:
        """Take the exergy map into account."""
        if self._exergy_flow is None:
            try:
                self._exergy_view = hook("ephs", "nodes.exergy_view", user="the flow of exergy")
            except VmsPhError:
                return  # without the wing the page shows energy alone
            self._exergy_flow = self._exergy_view.ExergyFlow()
            self._flow_choice.options = (*self._sankeys,)
        self._exergy = message

    def on_diagnostics(self, message: DiagnosticArray) -> None:
        """Take the status of nodes into account."""
        for status in message.status:
            name = node_name(status)
            if name and (name in self._node_statuses or len(self._node_statuses) < 50):
                self._node_statuses[name] = status

    def pause_and_speed(self, simulator: str) -> tuple[bool | None, float | None]:
        """Return whether a simulator, by the name of its node, is paused, and its speed.

        The speed is the ratio of simulated to real time. None: it is not known.
        """
        if (status := self._node_statuses.get(simulator)) is None:
            return None, None
        text = next((pair.value for pair in status.values if pair.key == SPEED_KEY), "")
        with suppress(ValueError):
            if 0.0 < (speed := float(text)) < _MAX_SPEED:
                return status.message == PAUSED, speed
        return status.message == PAUSED, None

    def forget(self) -> None:
        """Forget what was received: the topics end here."""
        self._node_statuses.clear()

    def draw(self, disagreement: str = "") -> None:
        """Send what has changed to the page.

        Args:
            disagreement: why nothing that is shown can be right; empty otherwise.
        """
        if disagreement:
            self._verdict = _badge(disagreement, _BAD_COLOUR)
        elif self._balance_messages is not None:
            self._verdict, self._balance_text = verdict(self._balance_messages[0])
        elif any(status.message == PAUSED for status in self._node_statuses.values()):
            self._verdict = _badge("Paused: nothing has moved yet", _GREY)
        if self._balance_messages is not None:
            self._draw_flow(*self._balance_messages)
        status = status_line(self._controller_state, self._node_statuses, self._time_ratio.ratio)
        lines = [self._balance_text, status, *self._notes]
        self._status.content = f'<div class="vms-text">{"<br>".join(filter(None, lines))}</div>'
        self._top.content = f'<div class="vms-top">{self._verdict}{self._picture}</div>'

    def _draw_flow(self, power: Power, energy: Energy) -> None:
        choice = self._flow_choice.value
        flows: dict[str, Any] = {
            "robot": self._robot_flow.flow(power, energy, self._law.split, self._law.base_moves),
            "closed loop": self._loop_flow.flow(self._law.split),
        }
        if self._exergy is not None:
            flows[_EXERGY] = self._exergy_flow.update(self._exergy)
            self._destroyers.visible = choice == _EXERGY
            if self._destroyers.visible:
                self._destroyers.content = self._exergy_view.exergy_list(self._exergy)
        if (flow := flows.get(choice)) is not None:
            self._picture = self._sankeys[choice].draw(flow, choice)


def _port_energies(power: Power) -> list[float]:
    """Return the energies that the ports and tools have supplied, J."""
    return [getattr(power, f"{port}_energy") for port in PORTS] + list(power.tool_energy)


def verdict(power: Power) -> tuple[str, str]:
    """Return as HTML whether energy is conserved, and the energy balance of a message."""
    energies, unaccounted_energy = _port_energies(power), power.unaccounted_energy
    moved_energy = max(map(abs, [*energies, power.dissipated_energy, power.stored]))
    html = energy_balance_html(
        power.stored, sum(energies), power.dissipated_energy, unaccounted_energy, moved_energy
    )
    source = "" if power.exact_energies else ", from samples"
    return conservation_badge(unaccounted_energy, moved_energy), f"since the start: {html}{source}"


def energy_balance_html(
    stored: float, supplied: float, dissipated: float, unaccounted: float, moved_energy: float
) -> str:
    """Return an energy balance as HTML; all energies in J, ``moved_energy`` is what was moved."""
    scales = [Scale(moved_energy, "J", digits) for digits in range(3, _MAX_DIGITS + 1)]
    terms = stored, supplied, -dissipated, unaccounted
    scale = next((scale for scale in scales if scale.adds_up(*terms)), scales[0])
    has_moved = moved_energy > _SMALLEST_ENERGY
    share = f" ({abs(unaccounted) / moved_energy:.0e} of what moved)" if has_moved else ""
    return (
        f"{scale.text(stored)} stored = {scale.text(supplied)} supplied − "
        f"{scale.text(dissipated)} dissipated + <b>{scale.text(unaccounted)} unaccounted</b>{share}"
    )


def conservation_badge(unaccounted_energy: float, moved_energy: float) -> str:
    """Return as HTML whether energy is conserved.

    Args:
        unaccounted_energy: J.
        moved_energy: energy that was moved, J.
    """
    if not moved_energy > _SMALLEST_ENERGY:
        return _badge("Energy is conserved: nothing has moved yet", _GOOD_COLOUR)
    share = abs(unaccounted_energy) / moved_energy
    if share <= _SMALL_SHARE:
        return _badge("Energy is conserved", _GOOD_COLOUR)
    if share <= _LARGE_SHARE:
        return _badge("Energy is nearly conserved", _FAIR_COLOUR)
    return _badge("Energy is not accounted for", _BAD_COLOUR)


class TimeRatio:
    """How fast simulated or recorded time passes, by the stamps of what arrives.

    Attributes:
        ratio: to real time, over the last seconds; None where it is not known.
    """

    def __init__(self) -> None:
        self._arrivals: deque[tuple[float, int]] = deque()
        self.ratio: float | None = None

    def add(self, stamp: int) -> None:
        """Take a stamp (ns) into account."""
        now, arrivals = time.monotonic(), self._arrivals
        if arrivals and stamp < arrivals[-1][1]:
            arrivals.clear()
        arrivals.append((now, stamp))
        while now - arrivals[0][0] > _RATIO_SECONDS:
            arrivals.popleft()
        elapsed = now - arrivals[0][0]
        is_long_enough = elapsed > 0.5 * _RATIO_SECONDS
        self.ratio = (stamp - arrivals[0][1]) / NS_PER_SEC / elapsed if is_long_enough else None


def status_line(
    control: ControllerState | None, nodes: dict[str, DiagnosticStatus], ratio: float | None = None
) -> str:
    """Return the status of law and nodes as HTML; ``ratio`` is the ratio to real time."""
    is_paused = any(status.message == PAUSED for status in nodes.values())
    phrases = ["<b>simulation</b> paused"] if is_paused else []
    if ratio is not None and not is_paused:
        phrases.append(f"<b>time</b> {ratio:.2f} × real time")
    if control is not None:
        state_text = _STATUS_TEXTS.get(control.status, f"status {control.status}")
        reason = f" ({escape(control.reason[:_MAX_LETTERS])})" if control.reason else ""
        phrases.append(f"<b>controller</b> {state_text}{reason}")
        phrases.append(f"<b>task error</b> {quantity(control.task_error, 'm')}")
        if control.tank_level:
            phrases.append(f"<b>tank</b> {quantity(control.tank_level, 'J')}")
    if is_paused:
        nodes = {node: s for node, s in nodes.items() if not s.message.startswith(NO_INPUT_START)}
    failing_nodes = {node: s for node, s in nodes.items() if s.level != DiagnosticStatus.OK}
    good_count = len(nodes) - len(failing_nodes)
    line = " · ".join(phrases)
    if nodes and not failing_nodes:
        line += f" · <b>{good_count} node{'s' if good_count > 1 else ''}</b> fine"
    for name, status in sorted(failing_nodes.items()):
        style = "warn" if status.level == DiagnosticStatus.WARN else "bad"
        text = escape(status.message[:_MAX_LETTERS])
        line += f'<br><span class="vms-{style}"><b>{escape(name[:_MAX_LETTERS])}</b>: {text}</span>'
    return line


def _badge(text: str, colour: str) -> str:
    return f'<div class="vms-badge" style="background:{colour}">{escape(text)}</div>'
