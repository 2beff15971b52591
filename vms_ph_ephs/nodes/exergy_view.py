# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Exergy of a robot with motors, battery and heat: where it flows, and who destroys how much."""

from html import escape
from math import isfinite

from vms_ph.msg import Exergy

from vms_ph_dynamics.energy.legend import GREY
from vms_ph_nodes.messages.conversions import NS_PER_SEC, from_stamp
from vms_ph_nodes.views.sankey import Flow, Stream, quantity

from ..ledger import cause

_MAX_ROWS = 6  # lines of the list
_ZERO_CELSIUS = 273.15

# From the temperature of the environment to one that windings bear, K.
_COLDEST, _HOTTEST = 298.15, 398.15


class ExergyFlow:
    """The flow of exergy out of the battery into motion and heat, and what destroys it."""

    def __init__(self) -> None:
        self._last_energies: tuple[tuple[int, int], dict[str, float]] | None = None

    def update(self, message: Exergy) -> Flow | None:
        """Return the flow since the last call; None where no time passed, or it began anew."""
        stored_exergy = dict(zip(message.stores, message.stored, strict=False))
        supplied_exergy = -stored_exergy.pop("battery", 0.0)
        stores = {name: stored_exergy.pop(name, 0.0) for name in ("kinetic", "potential")}
        stores["heat"] = sum(stored_exergy.values())
        losses: dict[str, float] = {}
        for name, energy in zip(message.destroyers, message.destroyed, strict=False):
            process = cause(name)
            process = "conduction" if "_to_" in process else process
            losses[process] = losses.get(process, 0.0) + energy
        energies = {"supply": supplied_exergy, "pushes": message.supplied, **stores, **losses}
        energies["unaccounted"] = message.residual
        instant = (message.resets, from_stamp(message.header.stamp))
        previous, self._last_energies = self._last_energies, (instant, energies)
        if previous is None or previous[0][0] != instant[0] or instant[1] <= previous[0][1]:
            return None
        interval = (instant[1] - previous[0][1]) / NS_PER_SEC

        def stream(name: str) -> Stream:
            rate = (energies[name] - previous[1].get(name, 0.0)) / interval
            return Stream(name, rate, energies[name])

        # Those that have destroyed nothing would fill the picture.
        cause_names = [name for name in losses if losses[name] > 0.0]
        sources = ("supply", "pushes", "unaccounted")
        sinks = (*stores, *sorted(cause_names, key=lambda name: -losses[name]))
        return Flow(tuple(map(stream, sources)), tuple(map(stream, sinks)), interval)


def exergy_list(message: Exergy) -> str:
    """Return as HTML the battery, and what destroys most exergy with its temperature."""
    destroyed_exergy = sum(message.destroyed)
    destroyers = sorted(
        zip(message.destroyers, message.destroyed, message.power, strict=False),
        key=lambda destroyer: -destroyer[1],
    )
    temperatures = dict(zip(message.bodies, message.temperatures, strict=False))
    rows = []
    for name, energy, power in destroyers[:_MAX_ROWS]:
        bar_share = energy / destroyers[0][1] if destroyers[0][1] > 0.0 else 0.0
        body = _body_of(name, temperatures)
        theta = temperatures.get(body)
        temperature = ""
        if theta is not None and isfinite(theta):
            red, green, blue = (round(255 * component) for component in colour_of(theta))
            temperature = (
                f'<span style="display:inline-block;width:10px;height:10px;border-radius:5px;'
                f'background:rgb({red},{green},{blue})"></span> {theta - _ZERO_CELSIUS:.1f} °C'
            )
        rows.append(
            f'<tr><td style="{_NAME}" title="{escape(name)}">{escape(name)}</td>'
            f'<td style="width:60px"><div style="height:9px;background:{GREY};'
            f'width:{100.0 * bar_share:.0f}%"></div></td>'
            f"<td align=right>{quantity(power, 'W')}</td>"
            f"<td align=right>{quantity(energy, 'J')}</td><td align=right>{temperature}</td></tr>"
        )
    tail = sum(energy for _, energy, _ in destroyers[_MAX_ROWS:])
    note = f"{len(destroyers) - _MAX_ROWS} others: {quantity(tail, 'J')} · " if tail > 0.0 else ""
    battery_exergy = dict(zip(message.stores, message.stored, strict=False)).get("battery", 0.0)
    supplied_exergy = message.supplied - battery_exergy
    stored_exergy = supplied_exergy - destroyed_exergy + message.residual
    return (
        f'<div style="{_TEXT}"><b>exergy</b> since the start: '
        f"{quantity(supplied_exergy, 'J')} given = {quantity(stored_exergy, 'J')} stored + "
        f"{quantity(destroyed_exergy, 'J')} destroyed; "
        f"<b>{quantity(message.residual, 'J')} unaccounted</b>"
        f'<table style="width:100%;border-spacing:4px 0"><tr style="opacity:.7">'
        "<td align=right>destroyed by</td><td></td><td align=right>now</td>"
        "<td align=right>since the start</td><td align=right>temperature</td></tr>"
        f"{''.join(rows)}</table>{note}"
        f"battery {message.voltage:.1f} V, {message.current:.1f} A, {100.0 * message.level:.1f} %"
        "</div>"
    )


def _body_of(destroyer: str, temperatures: dict[str, float]) -> str:
    """Return the body in which it is destroyed: of windings, the winding, else the housing."""
    body = destroyer.rpartition("/")[0]
    for name in (destroyer, f"{body}/housing", f"{body}/winding"):
        if name in temperatures:
            return name
    return ""


def colour_of(theta: float) -> tuple[float, float, float]:
    """Return the colour (red, green, blue, up to 1) of a temperature, K."""
    fraction = min(max((theta - _COLDEST) / (_HOTTEST - _COLDEST), 0.0), 1.0)
    if fraction < 0.5:
        return (2.0 * fraction * 0.98, 0.35 + 2.0 * fraction * 0.5, 0.9 - 2.0 * fraction * 0.75)
    return (0.98 - (fraction - 0.5) * 0.2, 0.85 - (fraction - 0.5) * 1.5, 0.15)


_TEXT = "font:12px/1.45 sans-serif;padding:4px 12px"
_NAME = "max-width:120px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;direction:rtl"
