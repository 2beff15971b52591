# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A flow of energy as a moving picture: an SVG whose bands are as wide as the power in them.

What supplies stands on the left, what receives on the right of a bar, the bus; both sides are
equally wide. The dashes in a band move by the energy that has passed. The browser moves them
between two pictures, so that a few pictures a second are enough.
"""

from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log10

from vms_ph_dynamics.energy.legend import Style, styles

_WIDTH, _TOP_MARGIN, _BOTTOM_MARGIN = 380.0, 10.0, 36.0
_LEFT_X, _BUS_X, _RIGHT_X = 118.0, 184.0, 250.0  # of the bars

# Height of a row, in which half of all bands fits; distance of rows where there is room, pixels.
_ROW_HEIGHT, _MAX_PITCH = 27.0, 34.0

# Width of all bands of a side at full scale, and length of an arrowhead, pixels.
_FULL_WIDTH, _HEAD_LENGTH = 46.0, 8.0

# Share of full scale below which a stream has no band, and stays on the side where it was.
_SMALLEST_SHARE = 0.02

# Distance by which dashes move in a second at full scale, and distance from dash to dash, pixels.
_DASH_SPEED, _DASH_PERIOD = 90.0, 16.0

# Time in which full scale falls to half, s; the smallest share of it that the flow fills; its
# smallest value, W: with less power, the robot is at rest.
_HALF_LIFE, _MIN_FILL_SHARE, _MIN_POWER = 2.0, 0.4, 0.01

_CSS = (
    ".ef text{font:11px sans-serif;fill:currentColor}.ef .n{fill-opacity:.7}"
    ".ef .w,.ef .d{fill:none}.ef .w{stroke-opacity:.55}.ef .h{fill-opacity:.75}"
    ".ef .d{stroke:#fff;stroke-opacity:.75;stroke-dasharray:4 12}"
    "@keyframes ef{from{stroke-dashoffset:var(--a)}}.ef .d{animation:ef var(--t) linear}"
)

LARGEST_NUMBER = 1e30  # the largest that is drawn; a message may have any number
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))


def quantity(value: float, unit: str) -> str:
    """Return a quantity with three digits and an SI prefix, zero below half a millionth."""
    if value != value:
        return ""
    magnitude = abs(value)
    if magnitude < 5e-7:
        return f"0 {unit}"
    factor, prefix = next(((f, p) for f, p in PREFIXES if magnitude >= 0.9995 * f), PREFIXES[-1])
    return f"{value / factor:.3g} {prefix}{unit}"


class Scale:
    """Writes quantities of one picture: in one unit, the largest with three digits or more."""

    def __init__(self, largest_value: float, unit: str, digits: int = 3) -> None:
        magnitude = min(max(1e-3, largest_value), LARGEST_NUMBER)  # also of what is no number
        factor, prefix = next((f, p) for f, p in PREFIXES if magnitude >= 0.9995 * f)
        self._factor, self._prefixed_unit = factor, f"{prefix}{unit}"
        self._decimals = max(0, digits - 1 - floor(log10(magnitude / factor * 1.0005)))

    def text(self, value: float) -> str:
        """Return a quantity, without a sign where it is zero; empty where it is not known."""
        if not isfinite(value):
            return ""
        return f"{self._round(value):.{self._decimals}f} {self._prefixed_unit}"

    def adds_up(self, total: float, *parts: float) -> bool:
        """Return whether a sum is right in the digits that are written."""
        difference = self._round(total) - sum(map(self._round, parts))
        return abs(difference) < 0.5 * 10.0**-self._decimals

    def _round(self, value: float) -> float:
        return round(value / self._factor, self._decimals) + 0.0


@dataclass(frozen=True)
class Stream:
    """One stream of energy.

    Attributes:
        name: name of the port or store, as in their legend.
        power: W; into the robot or loop where it is a source, out of it otherwise.
        energy: J: that has flowed so far, or that is stored.
    """

    name: str
    power: float
    energy: float


@dataclass(frozen=True)
class Flow:
    """Streams of energy; the powers of the sources add up to those of the others.

    Attributes:
        sources: streams in which energy comes.
        sinks: streams in which energy goes.
        seconds: time over which the powers are means, s.
        since: start of the sums of energies that are not stored, in words.
    """

    sources: tuple[Stream, ...]
    sinks: tuple[Stream, ...]
    seconds: float
    since: str = "since the start"

    def _repr_html_(self) -> str:
        """Return a picture, for notebooks."""
        return Sankey().draw(self, "flow")


class Sankey:
    """Draws flows one after another; between them it knows how far the dashes have moved."""

    def __init__(self) -> None:
        self._scale = _MIN_POWER
        self._offsets: dict[str, float] = {}  # of the dashes, by stream
        self._side_of_stream: dict[str, int] = {}  # of streams: 0 supplies, 1 receives
        self._row_count = 4  # as many as a side has had: the picture does not shrink

    def draw(self, flow: Flow, title: str) -> str:
        """Return the next picture.

        Args:
            flow: energy flow to draw.
            title: name of what the energy flows through.
        """
        sides = self._sides_of(flow)
        styles_by_name = styles(stream.name for stream in (*flow.sources, *flow.sinks))
        max_power = max(sum(map(_magnitude, side)) for side in sides)
        is_at_rest = max_power < _MIN_POWER
        # After a peak the scale falls slowly, but what flows stays thick.
        old_scale = self._scale * 0.5 ** (flow.seconds / _HALF_LIFE)
        self._scale = max(min(max(max_power, old_scale), max_power / _MIN_FILL_SHARE), _MIN_POWER)
        self._row_count = max(self._row_count, *map(len, sides))
        rows_height = self._row_count * _ROW_HEIGHT
        height = _TOP_MARGIN + rows_height + _BOTTOM_MARGIN
        centre = _TOP_MARGIN + rows_height / 2.0
        energies = [abs(s.energy) for side in sides for s in side if isfinite(s.energy)]
        scales = Scale(self._scale, "W"), Scale(max(energies, default=0.0), "J")
        svg = [
            f'<svg class="ef" viewBox="0 0 {_WIDTH:g} {height:g}" width="100%" '
            f'style="--t:{min(flow.seconds, 1.0):.2f}s" role="img" '
            f'aria-label="flow of energy: {escape(title)}"><style>{_CSS}</style>'
        ]
        offsets: dict[str, float] = {}
        for side, streams in enumerate(sides):
            widths = [0.0 if is_at_rest else self._band_width(stream) for stream in streams]
            edge_y = centre - sum(widths) / 2.0
            pitch = min(rows_height / max(len(streams), 1), _MAX_PITCH)
            for k, (stream, width) in enumerate(zip(streams, widths, strict=True)):
                row_y = centre + (k - 0.5 * (len(streams) - 1)) * pitch
                style = styles_by_name[stream.name]
                if width:
                    offset = self._offsets.get(stream.name, 0.0)
                    phase = offset - _DASH_SPEED * width / _FULL_WIDTH * flow.seconds
                    offsets[stream.name] = phase % _DASH_PERIOD  # only the difference counts
                    middle_y = edge_y + width / 2.0
                    svg.append(_band(style.colour, side, row_y, middle_y, width, (offset, phase)))
                svg.append(_label(stream, style, side, row_y, width, scales))
                edge_y += width
        self._offsets = offsets
        bar_size = max(_FULL_WIDTH * max_power / self._scale, 6.0)
        power_text = "at rest" if is_at_rest else scales[0].text(max_power)
        captions = (
            f"{title}: {power_text} · left: supplies, right: receives",
            f"energy {flow.since}: ports inwards; green, light blue: contents",
        )
        svg.append(
            f'<rect x="{_BUS_X:g}" y="{centre - bar_size / 2:.1f}" width="8" '
            f'height="{bar_size:.1f}" fill="currentColor"/>'
        )
        for k, caption in enumerate(captions):
            svg.append(
                f'<text x="{_WIDTH / 2:g}" y="{height - 18 + 13 * k:g}" text-anchor="middle" '
                f'class="n">{escape(caption)}</text>'
            )
        return "".join([*svg, "</svg>"])

    def _sides_of(self, flow: Flow) -> tuple[list[Stream], list[Stream]]:
        """Return what supplies and what receives; a store that empties, for one, supplies."""
        sides: tuple[list[Stream], list[Stream]] = [], []
        for default_side, streams in enumerate((flow.sources, flow.sinks)):
            for stream in streams:
                side = self._side_of_stream.get(stream.name, default_side)
                if _magnitude(stream) > _SMALLEST_SHARE * self._scale:
                    side = default_side if stream.power > 0.0 else 1 - default_side
                self._side_of_stream[stream.name] = side
                sides[side].append(stream)
        return sides

    def _band_width(self, stream: Stream) -> float:
        """Return the width of the band of a stream, pixels; zero where none is drawn."""
        share = _magnitude(stream) / self._scale
        return _FULL_WIDTH * share if share >= _SMALLEST_SHARE else 0.0


def _band(
    colour: str, side: int, row_y: float, bus_y: float, width: float, dashes: tuple[float, float]
) -> str:
    """Return a band from left to right with its arrowhead.

    Args:
        colour: of its stream.
        side: 0 left of the bus, 1 right of it.
        row_y: y coordinate of its label, pixels.
        bus_y: y coordinate at the bus, pixels.
        width: pixels.
        dashes: offsets of the dashes when the picture appears and at its end, pixels.
    """
    left_x, right_x = (_LEFT_X + 5.0, _BUS_X) if side == 0 else (_BUS_X + 8.0, _RIGHT_X)
    start, end = (row_y, bus_y) if side == 0 else (bus_y, row_y)
    tip, mid_x = right_x - _HEAD_LENGTH, (left_x + right_x - _HEAD_LENGTH) / 2.0
    path = f"M{left_x:g} {start:.1f}C{mid_x:g} {start:.1f} {mid_x:g} {end:.1f} {tip:g} {end:.1f}"
    half_width = width / 2.0 + 2.5
    dash_path = (
        f'<path class="d" d="{path}" stroke-width="{min(width, 3.0):.1f}" '
        f'stroke-dashoffset="{dashes[1]:.1f}" style="--a:{dashes[0]:.1f}"/>'
    )
    return (
        f'<path class="w" d="{path}" stroke="{colour}" stroke-width="{width:.1f}"/>'
        f'<path class="h" d="M{tip:g} {end - half_width:.1f}L{right_x:g} {end:.1f}'
        f'L{tip:g} {end + half_width:.1f}Z" fill="{colour}"/>' + (dash_path if width > 2.0 else "")
    )


def _label(
    stream: Stream, style: Style, side: int, y: float, width: float, scales: tuple[Scale, Scale]
) -> str:
    """Return the bar of a stream with its name, its power and its energy."""
    bar_x = _LEFT_X if side == 0 else _RIGHT_X
    text_x, anchor = (_LEFT_X - 5.0, "end") if side == 0 else (_RIGHT_X + 10.0, "start")
    bar_height = max(width, 8.0)
    energy_text = scales[1].text(stream.energy)
    power_text = scales[0].text(_magnitude(stream)) if width else ""
    numbers = " · ".join(filter(None, (power_text, energy_text)))
    name = escape(style.label)
    text = f'<text x="{text_x:g}" text-anchor="{anchor}" '
    return (
        f'<rect x="{bar_x:g}" y="{y - bar_height / 2:.1f}" width="5" height="{bar_height:.1f}" '
        f'fill="{style.colour}" fill-opacity="{1 if width else 0.4}"/>'
        f'{text}y="{y - 2:.1f}">{name}</text>{text}y="{y + 10:.1f}" class="n">{numbers}</text>'
    )


def _magnitude(stream: Stream) -> float:
    """Return the size of a power; zero if it is not known."""
    return min(abs(stream.power), LARGEST_NUMBER) if isfinite(stream.power) else 0.0
