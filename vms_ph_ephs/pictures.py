# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Diagrams of patterns: their layout, and their drawing as SVG.

Inner boxes are round: green where they store energy, grey where they lose it, filled where they
hold composite systems. Junctions are dots; the outer box is a rectangle; state ports are dashed.
Port names are shown at the junction if all ports there share one, else at their box.
"""

from dataclasses import dataclass
from html import escape
from math import hypot

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.energy.legend import GREEN, GREY

from .components import Irreversible, Storage
from .patterns import Pattern, split
from .systems import System, flatten

_ITERATIONS = 400  # of the stress majorisation

# Lengths in px.
_WIRE_LENGTH = 74.0
_MIN_HALF_WIDTH = 21.0  # of a box
_HALF_HEIGHT = 15.0  # of a box
_JUNCTION_INSET = 14.0  # a wire to a junction is drawn shorter by this than one to a box
_FRAME_INSET = 14.0  # from the edge of the picture to the frame
_PORT_ROW, _PORT_COLUMN = 16.0, 24.0  # between outer ports of one junction at a side of the frame


@dataclass(frozen=True)
class Placement:
    """Positions in a picture, px, y downwards.

    Attributes:
        boxes: centre and half width of every box.
        junctions: centre of every junction.
        outer: end of every outer port on the frame.
        size: width and height.
    """

    boxes: dict[str, tuple[float, float, float]]
    junctions: dict[str, tuple[float, float]]
    outer: dict[str, tuple[float, float]]
    size: tuple[float, float]


def half_width(name: str) -> float:
    """Return the half width of a box with its name, px."""
    return max(_MIN_HALF_WIDTH, 9.0 + 3.9 * len(name))


def arrange(pattern: Pattern) -> Placement:
    """Return the placement of a pattern; the same pattern always gives the same."""
    boxes, junctions = list(pattern.boxes), list(pattern.junctions)
    nodes = [("box", n) for n in boxes] + [("junction", n) for n in junctions]
    node_indices = {name: k for k, name in enumerate(nodes)}
    wire_ends = {
        (node_indices["box", split(path)[0]], node_indices["junction", junction])
        for junction, paths in pattern.junctions.items()
        for path in paths
        if split(path)[0]
    }
    extra_lengths = np.array(
        [half_width(n) - _MIN_HALF_WIDTH for n in boxes] + [-_JUNCTION_INSET] * len(junctions)
    )
    xy = _stress_layout(_distances(len(nodes), wire_ends), extra_lengths)
    margin = np.array([max((half_width(n) for n in boxes), default=30.0) + 34.0, 58.0])
    xy += margin - xy.min(axis=0)
    size = xy.max(axis=0) + margin
    centres = {name: (float(p[0]), float(p[1])) for name, p in zip(nodes, xy, strict=True)}
    outer = _outer_positions(pattern, centres, (float(size[0]), float(size[1])))
    return Placement(
        {n: (*centres["box", n], half_width(n)) for n in boxes},
        {n: centres["junction", n] for n in junctions},
        outer,
        (float(size[0]), float(size[1])),
    )


def _outer_positions(
    pattern: Pattern, centres: dict[tuple[str, str], tuple[float, float]], size: tuple[float, float]
) -> dict[str, tuple[float, float]]:
    """Return the ends of outer ports on the frame, each at the free place nearest to its junction.

    Args:
        pattern: to draw.
        centres: of boxes and junctions, by ("box", name) or ("junction", name).
        size: width and height of the picture.
    """
    positions: dict[str, tuple[float, float]] = {}
    for junction, paths in pattern.junctions.items():
        x, y = centres["junction", junction]
        for k, path in enumerate(e for e in paths if not split(e)[0]):
            distances = {
                (_FRAME_INSET, y + _PORT_ROW * k): x,
                (size[0] - _FRAME_INSET, y + _PORT_ROW * k): size[0] - x,
                (x + _PORT_COLUMN * k, _FRAME_INSET): y,
                (x + _PORT_COLUMN * k, size[1] - _FRAME_INSET): size[1] - y,
            }
            free_places = {p: d for p, d in distances.items() if p not in positions.values()}
            positions[path] = min(free_places, key=lambda p: free_places[p])
    return positions


def _distances(n: int, wires: set[tuple[int, int]]) -> Array:
    """Return the numbers of wires on the shortest paths between n boxes and junctions, (n,n)."""
    d = np.full((n, n), np.inf)
    np.fill_diagonal(d, 0.0)
    for a, b in wires:
        d[a, b] = d[b, a] = 1.0
    for k in range(n):
        d = np.minimum(d, d[:, [k]] + d[[k], :])
    finite_distances = d[np.isfinite(d)]
    return np.where(np.isfinite(d), d, finite_distances.max(initial=1.0) + 1.0)


def _stress_layout(d: Array, extra_lengths: Array) -> Array:
    """Return positions (n,2), px, whose distances are nearest to given ones (stress majorisation).

    Args:
        d: (n,n) numbers of wires between the nodes.
        extra_lengths: (n,) lengths, px, by which wires to a node are longer.
    """
    n = d.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    target_lengths = _WIRE_LENGTH * d + extra_lengths[:, None] + extra_lengths[None, :]
    target_lengths = np.maximum(target_lengths, 40.0)
    weights = 1.0 / np.maximum(d, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    # Start from the two principal axes of the distances; ties are broken by a small fixed spiral.
    centring = np.eye(n) - 1.0 / n
    eigvals, vectors = np.linalg.eigh(-0.5 * centring @ d**2 @ centring)
    order = np.argsort(eigvals)[::-1][:2]
    angle = 2.4 * np.arange(n)
    spiral = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    xy = _WIRE_LENGTH * vectors[:, order] * np.sqrt(np.maximum(eigvals[order], 0.0)) + 4.0 * spiral
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ITERATIONS):
        offsets = xy[:, None] - xy[None, :]
        lengths = np.maximum(np.linalg.norm(offsets, axis=2), 1e-9)
        guttman = -weights * target_lengths / lengths
        np.fill_diagonal(guttman, 0.0)
        np.fill_diagonal(guttman, -guttman.sum(axis=1))
        xy = inverse @ (guttman @ xy)
    return _landscape(xy)


def _landscape(xy: Array) -> Array:
    """Rotate a picture so that it is wider than high."""
    xy = xy - xy.mean(axis=0)
    _, _, axes = np.linalg.svd(xy, full_matrices=False)
    xy = xy @ axes.T
    # Signs of singular vectors are arbitrary: the first node is at the top left.
    signs = np.where(xy[0] > 0.0, -1.0, 1.0)
    return xy * signs


_STYLE = """<style>
.box{fill:#fff;stroke:#222;stroke-width:1.2}.composite{fill:#ffe9a8}
.frame{fill:none;stroke:#222;stroke-width:1.2}.wire{stroke:#222;stroke-width:1.2;fill:none}
.state{stroke-dasharray:4 3}.dot{fill:#222}
text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#222;text-anchor:middle}
.port{font-size:10px;fill:#555}.title{font-weight:bold;text-anchor:start}
"""
_STYLE += f".store{{stroke:{GREEN};stroke-width:3}}.loss{{stroke:{GREY};stroke-width:3}}</style>"
_CLASSES = {Storage: "box store", Irreversible: "box loss", System: "box composite"}


def draw(system: System, *, flat: bool = False, title: str = "") -> str:
    """Return a picture of a system: its pattern and those in its boxes, or its flat pattern.

    Args:
        system: to draw.
        flat: whether to draw the flat pattern of its components.
        title: title of the picture.
    """
    if flat:
        system = flatten(system)
        return _document([_panel(system, title)])
    return _document([_panel(s, name) for name, s in _levels(system, title)])


def _levels(system: System, title: str) -> list[tuple[str, System]]:
    """Return a system and the different composite systems in it, outer first."""
    levels: list[tuple[str, System]] = [(title or "system", system)]
    keys = [_picture_key(system)]
    for name, level in levels:
        for box, filling in level.fillings.items():
            if isinstance(filling, System) and _picture_key(filling) not in keys:
                keys.append(_picture_key(filling))
                levels.append((box if level is system else f"{name}.{box}", filling))
    return levels


def _picture_key(system: System) -> object:
    """Return the shape of a picture: its wires, and which boxes are composite."""
    junctions = tuple((name, paths) for name, paths in system.pattern.junctions.items())
    kinds = tuple((box, isinstance(filling, System)) for box, filling in system.fillings.items())
    return junctions, kinds


def _document(panels: list[tuple[str, float, float]]) -> str:
    width = max(panel_width for _, panel_width, _ in panels)
    height = sum(panel_height for _, _, panel_height in panels)
    groups, y = [], 0.0
    for panel_svg, _, panel_height in panels:
        groups.append(f'<g transform="translate(0 {y:.1f})">{panel_svg}</g>')
        y += panel_height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}">{_STYLE}'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(groups)}</svg>\n'
    )


def _panel(system: System, title: str) -> tuple[str, float, float]:
    pattern = system.pattern
    placement = arrange(pattern)
    width, height = placement.size
    title_height = 30.0
    elements = [
        f'<text class="title" x="14" y="20">{escape(title)}</text>' if title else "",
        f'<g transform="translate(0 {title_height})">',
        f'<rect class="frame" x="14" y="14" width="{width - 28:.1f}" height="{height - 28:.1f}"/>',
    ]
    elements += wires(pattern, placement)
    labels = []
    for junction, paths in pattern.junctions.items():
        x, y = placement.junctions[junction]
        inner_paths = [path for path in paths if split(path)[0]]
        is_name_common = len({split(path)[1] for path in inner_paths}) == 1
        for path in paths:
            if split(path)[0] and not is_name_common:
                labels.append(_port_label(placement, path, (x, y)))
            if not split(path)[0]:
                ox, oy = placement.outer[path]
                labels.append(f'<text class="port" x="{ox + 9:.1f}" y="{oy - 4:.1f}">{path}</text>')
        if is_name_common:
            name = split(inner_paths[0])[1]
            labels.append(f'<text class="port" x="{x + 9:.1f}" y="{y - 6:.1f}">{name}</text>')
    for box, (x, y, half_size) in placement.boxes.items():
        filling = system.fillings[box]
        css = next((text for cls, text in _CLASSES.items() if isinstance(filling, cls)), "box")
        elements.append(
            f'<rect class="{css}" x="{x - half_size:.1f}" y="{y - _HALF_HEIGHT:.1f}" '
            f'rx="{_HALF_HEIGHT}" width="{2 * half_size:.1f}" height="{2 * _HALF_HEIGHT:.1f}"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}">{escape(box)}</text>'
        )
    elements += [*labels, "</g>"]
    return "".join(elements), width, height + title_height


def wires(pattern: Pattern, placement: Placement) -> list[str]:
    """Return the wires and junctions of a picture as SVG; wires have the names of their ports."""
    elements = []
    for junction, paths in pattern.junctions.items():
        x, y = placement.junctions[junction]
        for path in paths:
            box = split(path)[0]
            target = placement.boxes[box][:2] if box else placement.outer[path]
            css = "wire" if pattern.port(path).kind == "power" else "wire state"
            elements.append(
                f'<line class="{css}" data-end="{escape(path)}" x1="{x:.1f}" y1="{y:.1f}" '
                f'x2="{target[0]:.1f}" y2="{target[1]:.1f}"><title>{escape(path)}</title></line>'
            )
        elements.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>')
    return elements


def _port_label(placement: Placement, path: str, centre: tuple[float, float]) -> str:
    """Return the name of a port beside its wire from a box to the centre of a junction."""
    box, port = split(path)
    x, y, width = placement.boxes[box]
    dx, dy = centre[0] - x, centre[1] - y
    length = max(hypot(dx, dy), 1.0)
    # Just outside the box, beside the wire.
    distance = (
        min(width / max(abs(dx) / length, 1e-3), _HALF_HEIGHT / max(abs(dy) / length, 1e-3)) + 9.0
    )
    px, py = (
        x + dx / length * distance - dy / length * 8.0,
        y + dy / length * distance + dx / length * 8.0,
    )
    return f'<text class="port" x="{px:.1f}" y="{py + 3:.1f}">{escape(port)}</text>'
