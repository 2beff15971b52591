# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robot as an exergetic port-Hamiltonian system: its pattern, with the power in every wire."""

from collections.abc import Mapping
from html import escape

import numpy as np
import viser
from rclpy.node import Node

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.legend import BLUE, PURPLE, rgb
from vms_ph_nodes.topics.robot_motion import MotionListener, RobotMotion
from vms_ph_nodes.views.sankey import quantity

from ..equations.assembly import port_powers
from ..patterns import split
from ..pictures import arrange, wires
from ..robot import Mechanism
from ..systems import System

# Temperature of everything, K, and heat capacity of joints, J/K: the powers do not depend on them.
_THETA_0, _CAPACITY = 298.15, 1000.0

# Of powers into a box, out of it, and none; colour-blind readers tell them apart.
_INTO, _OUT, _NONE = rgb(PURPLE), rgb(BLUE), (200, 200, 200)
_THIN, _WIDE = 3.0, 12.0  # wires, pixels

# Share to which the full width falls from one drawing to the next, and its least value, W.
_DECAY, _LEAST = 0.7, 1e-6
_FONT = 20  # px, in a picture of its own size
_LONG = 13  # letters
_WINDOW, _BORDER = 520.0, 90.0  # width, and height of what is around the picture, pixels

_STYLE = (
    f".ep text{{font:{_FONT}px sans-serif;text-anchor:middle;fill:#222}}"
    ".ep rect{fill:#fff;stroke:#222}.ep .c{fill:#ffe9a8}"
    f".ep line{{stroke:rgb{_NONE};stroke-width:{_THIN}}}"
)


class PatternView:
    """A window with the pattern of a robot, whose wires have the colours of their powers."""

    def __init__(self, node: Node, server: viser.ViserServer, model: VMSModel) -> None:
        """Open the window.

        Args:
            node: which listens to the motion of the robot.
            server: of the page.
            model: the robot.

        Raises:
            ModelError: bodies and joints cannot represent the robot.
        """
        capacities = np.full(model.n, _CAPACITY)
        # One state is evaluated a few times a second: that takes no C++.
        self._mechanism = Mechanism(model, capacities, _THETA_0, native=False)
        self._system = self._mechanism.system
        self._full = _LEAST
        self._panel = server.gui.add_panel()
        with self._panel.add_tab("EPHS pattern"):
            self._colours = server.gui.add_html("")
            server.gui.add_html(picture(self._system))
        width, height = arrange(self._system.pattern).size
        # At the lower left: the robot is in the middle.
        self._panel.float(
            x=12.0, y=-12.0, width=_WINDOW, height=min(_BORDER + _WINDOW * height / width, _WINDOW)
        )

        self._motion: RobotMotion | None = None
        self._listener = MotionListener(node, model, self._on_motion, lambda why: None)

    def _on_motion(self, motion: RobotMotion) -> None:
        self._motion = motion

    def remove(self) -> None:
        """Close the window."""
        self._listener.close()
        self._panel.remove()

    def draw(self) -> None:
        """Colour the wires by the powers of the last motion."""
        motion, mechanism = self._motion, self._mechanism
        if motion is None:
            return
        x = mechanism.state(motion.d.q, motion.d.v)
        flows = mechanism.flows(motion.ports(None))
        inner = port_powers(mechanism.equations, x, flows)
        powers = wire_powers(self._system, inner)
        largest = max(map(abs, powers.values()), default=0.0)
        self._full = max(largest, _DECAY * self._full, _LEAST)
        self._colours.content = styles(self._system, powers, self._full)


def wire_powers(system: System, inner: Mapping[str, float]) -> dict[str, float]:
    """Return the power into every box of a system through every port, W.

    Args:
        system: whose boxes may be systems.
        inner: power into every port of every component in it, by ``"box.port"`` of the flat system.
    """
    powers: dict[str, float] = {}
    for ends in system.pattern.junctions.values():
        for end in ends:
            if split(end)[0] and system.pattern.port(end).kind == "power":
                powers[end] = _power(system, end, inner, "")
    return powers


def _power(system: System, end: str, inner: Mapping[str, float], above: str) -> float:
    """Return the power through an end: what flows into a system goes to the ports within."""
    box, port = split(end)
    filling, name = system.fillings[box], f"{above}{box}."
    if not isinstance(filling, System):
        return inner.get(f"{name}{port}", 0.0)
    within = next(ends for ends in filling.pattern.junctions.values() if port in ends)
    return sum(
        _power(filling, inner_end, inner, name) for inner_end in within if split(inner_end)[0]
    )


def picture(system: System) -> str:
    """Return the pattern of a system as SVG; its wires have the names of their ports."""
    pattern = system.pattern
    layout = arrange(pattern)
    width, height = layout.size
    names = _short([*pattern.boxes])
    parts = [
        f'<svg class="ep" viewBox="0 0 {width:.0f} {height:.0f}" width="100%" '
        f'style="background:#fff" role="img" aria-label="pattern"><style>{_STYLE}</style>'
    ]
    parts += wires(pattern, layout)
    for box, (x, y, _) in layout.boxes.items():
        name = names[box]
        half = max(26.0, 0.3 * _FONT * len(name) + 8.0)
        kind = ' class="c"' if isinstance(system.fillings[box], System) else ""
        parts.append(
            f'<rect{kind} x="{x - half:.0f}" y="{y - 18:.0f}" rx="18" width="{2 * half:.0f}" '
            f'height="36"><title>{escape(box)}</title></rect>'
            f'<text x="{x:.0f}" y="{y + 7:.0f}">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _short(boxes: list[str]) -> dict[str, str]:
    """Return names that fit into boxes: without their common beginning, and cut where too long."""
    bare = {box: box.rpartition("__")[2] for box in boxes}
    start = next(iter(bare.values())).partition("_")[0] + "_"
    if all(name.startswith(start) for box, name in bare.items() if box != "ground"):
        bare = {box: name.removeprefix(start) for box, name in bare.items()}
    return {box: _cut(name) for box, name in bare.items()}


def _cut(name: str) -> str:
    """Return the last words of a name that fit into a box."""
    while len(name) > _LONG and "_" in name:
        name = name.partition("_")[2]
    return name[-_LONG:]


def _css(text: str) -> str:
    """Return a text as a string of CSS within HTML: letters that mean something have numbers."""
    return "".join(c if c.isalnum() or c in "_." else f"\\{ord(c):x} " for c in text)


def styles(system: System, powers: Mapping[str, float], full: float) -> str:
    """Return the colours and widths of the wires as HTML, with a legend.

    Args:
        system: what is drawn.
        powers: into its boxes, by the names of their ports, W.
        full: power at full width, W.
    """
    rules = []
    for ends in system.pattern.junctions.values():
        boxes = [end for end in ends if end in powers]
        for end in ends:
            # What the boxes of a junction take comes from outside.
            power = (
                powers.get(end, 0.0) if split(end)[0] else sum(powers[box_end] for box_end in boxes)
            )
            share = min(abs(power) / full, 1.0) ** 0.5
            strong = _INTO if power > 0.0 else _OUT
            red, green, blue = (
                round(n + (s - n) * share) for n, s in zip(_NONE, strong, strict=True)
            )
            rules.append(
                f'.ep [data-end="{_css(end)}"]{{stroke:rgb({red},{green},{blue});'
                f"stroke-width:{_THIN + (_WIDE - _THIN) * share:.1f}px}}"
            )
    squares = "".join(
        f'<span style="display:inline-block;width:10px;height:10px;margin:0 4px 0 12px;'
        f'background:rgb{colour}"></span>{text}'
        for colour, text in ((_INTO, "power into a box"), (_OUT, "power out of it"))
    )
    scale = f" &nbsp; full width {quantity(full, 'W')}"
    return (
        f"<style>{''.join(rules)}</style>"
        f'<div style="font:12px sans-serif;padding:4px 0">{squares}{scale}</div>'
    )
