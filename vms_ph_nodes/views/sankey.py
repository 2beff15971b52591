# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A flow of energy as a moving picture: an SVG whose bands are as wide as the power in them.

The width of a band and the number beside it are the same power. The dashes in a band move by the
energy that has passed. The browser moves them between two pictures, so that a few pictures a second
are enough.
"""

from html import escape
from math import isfinite

from .energy_flow import Flow, Stream

_WIDTH, _TOP, _BOTTOM = 380.0, 24.0, 30.0
_LEFT, _BUS, _RIGHT = 118.0, 184.0, 250.0  # of the bars

# Height of a row, and of one of many; distance of rows where there is room, pixels.
_ROW, _LOW, _MANY, _PITCH = 31.0, 26.0, 6, 34.0

# Width of all bands of a side at full scale, and least width of a band, pixels.
_FULL, _SMALLEST_WIDTH = 52.0, 0.6

# Share of full scale below which no band is drawn.
_SMALLEST_SHARE = 1e-3

# Distance by which dashes move while the energy of full scale in a second passes, and their period.
_SPEED, _PERIOD = 90.0, 16.0

# Time in which the scale falls to half, s; the least share of it that flows; its least value, W.
_HALF, _FILLED, _SMALLEST = 2.0, 0.4, 1e-6

# Of the palette of Okabe and Ito.
COLOURS = {"port": "#0072b2", "store": "#009e73", "loss": "#8c8c8c", "unaccounted": "#d55e00"}

_STYLE = (
    ".ef text{font:11px sans-serif;fill:currentColor}.ef .n{fill-opacity:.7}"
    ".ef path{fill:none}.ef .d{stroke:#fff;stroke-opacity:.75;stroke-dasharray:4 12}"
    "@keyframes ef{from{stroke-dashoffset:var(--a)}}.ef .d{animation:ef var(--t) linear}"
)

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def quantity(value: float, unit: str, signed: bool = False) -> str:
    """Return a quantity with three digits and an SI prefix, zero below 1e-12."""
    if value != value:
        return ""
    size = abs(value)
    if size < 1e-12:
        return f"0 {unit}"
    factor, prefix = next(((f, p) for f, p in PREFIXES if size >= 0.9995 * f), (1e-12, "p"))
    return f"{value / factor:{'+' if signed else ''}.3g} {prefix}{unit}"


class Sankey:
    """Draws flows one after another; between them it knows how far the dashes have moved."""

    def __init__(self) -> None:
        self._scale = _SMALLEST
        self._offsets: dict[str, float] = {}  # of the dashes, by stream

    def draw(self, flow: Flow, title: str) -> str:
        """Return the next picture.

        Args:
            flow: what flows.
            title: what it flows through.
        """
        most = max(sum(map(_size, side)) for side in (flow.sources, flow.sinks))
        # After a peak the scale falls slowly, but what flows stays thick.
        decayed = self._scale * 0.5 ** (flow.seconds / _HALF)
        self._scale = max(min(max(most, decayed), most / _FILLED), _SMALLEST)
        rows = max(len(flow.sources), len(flow.sinks))
        inner = rows * (_ROW if rows <= _MANY else _LOW)
        height = _TOP + inner + _BOTTOM
        centre = _TOP + inner / 2.0
        parts = [
            f'<svg class="ef" viewBox="0 0 {_WIDTH:g} {height:g}" width="100%" '
            f'style="--t:{min(flow.seconds, 1.0):.2f}s" role="img" '
            f'aria-label="flow of energy: {escape(title)}"><style>{_STYLE}</style>'
        ]
        offsets: dict[str, float] = {}
        for side, streams in enumerate((flow.sources, flow.sinks)):
            widths = [self._width(stream) for stream in streams]
            edge = centre - sum(widths) / 2.0
            pitch = min(inner / max(len(streams), 1), _PITCH)
            for k, (stream, width) in enumerate(zip(streams, widths, strict=True)):
                label_height = centre + (k - 0.5 * (len(streams) - 1)) * pitch
                middle = edge + width / 2.0
                parts.append(self._stream(stream, side, label_height, middle, width, flow, offsets))
                edge += width
        self._offsets = offsets
        high = max(_FULL * most / self._scale, 6.0)
        scale = f"full width {quantity(self._scale, 'W')}, dashes show the direction"
        captions = (
            f"power now · energy {flow.since}; green: what is stored now",
            scale if most >= _SMALLEST_SHARE * self._scale else "nothing flows now",
        )
        parts.append(
            f'<rect x="{_BUS:g}" y="{centre - high / 2:.1f}" width="8" height="{high:.1f}" '
            'fill="currentColor"/>'
            f'<text x="{_BUS + 4:g}" y="10" text-anchor="middle">{escape(title)}</text>'
        )
        for k, caption in enumerate(captions):
            parts.append(
                f'<text x="{_WIDTH / 2:g}" y="{height - 16 + 13 * k:g}" text-anchor="middle" '
                f'class="n">{escape(caption)}</text>'
            )
        return "".join([*parts, "</svg>"])

    def _width(self, stream: Stream) -> float:
        """Return the width of the band of a stream, pixels; zero where none is drawn."""
        share = _size(stream) / self._scale
        return max(_FULL * share, _SMALLEST_WIDTH) if share >= _SMALLEST_SHARE else 0.0

    def _stream(
        self,
        stream: Stream,
        side: int,
        label_height: float,
        bus_height: float,
        width: float,
        flow: Flow,
        offsets: dict[str, float],
    ) -> str:
        """Return the band of a stream with its label; note where its dashes are in ``offsets``."""
        key = f"{side}{stream.name}"
        offset = self._offsets.get(key, 0.0)
        sign = 1.0 if stream.power > 0.0 else -1.0
        phase = offset - sign * _SPEED * _size(stream) / self._scale * flow.seconds
        # Only the difference counts: offsets stay small.
        offsets[key] = phase % _PERIOD
        colour = COLOURS[stream.kind]
        left, right = (_LEFT + 5.0, _BUS) if side == 0 else (_BUS + 8.0, _RIGHT)
        start, end = (label_height, bus_height) if side == 0 else (bus_height, label_height)
        middle = (left + right) / 2.0
        path = (
            f"M{left:g} {start:.1f}C{middle:g} {start:.1f} {middle:g} {end:.1f} {right:g} {end:.1f}"
        )
        bar = _LEFT if side == 0 else _RIGHT
        x, anchor = (_LEFT - 5.0, "end") if side == 0 else (_RIGHT + 10.0, "start")
        high = max(width, 8.0)
        elements = []
        if width:
            elements.append(
                f'<path class="w" d="{path}" stroke="{colour}" stroke-opacity=".55" '
                f'stroke-width="{width:.1f}"/>'
            )
        if width > 2.0 * _SMALLEST_WIDTH:
            elements.append(
                f'<path class="d" d="{path}" stroke-width="{min(width, 3.0):.1f}" '
                f'stroke-dashoffset="{phase:.1f}" style="--a:{offset:.1f}"/>'
            )
        elements.append(
            f'<rect x="{bar:g}" y="{label_height - high / 2:.1f}" width="5" height="{high:.1f}" '
            f'fill="{colour}" fill-opacity="{1 if width else 0.4}"/>'
            f'<text x="{x:g}" y="{label_height - 2:.1f}" text-anchor="{anchor}">'
            f"{escape(stream.name)}</text>"
            f'<text x="{x:g}" y="{label_height + 10:.1f}" text-anchor="{anchor}" class="n">'
            f"{_label(stream)}</text>"
        )
        return "".join(elements)


def _size(stream: Stream) -> float:
    """Return the size of a power; zero if it is not known."""
    return abs(stream.power) if isfinite(stream.power) else 0.0


def _label(stream: Stream) -> str:
    power = quantity(stream.power, "W", signed=True)
    energy = quantity(stream.energy, "J")
    return f"{power} · {energy}" if energy else power
