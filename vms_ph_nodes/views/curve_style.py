# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How curves of recorded runs are drawn: those of an energy balance as in the flow of energy."""

from collections.abc import Iterable
from typing import Any

from .sankey import COLOURS
from .strip import COLOURS as PALETTE

GHOSTLY = ", ghost"
"""Ends the names of the curves of the second run."""

_MEANING = {
    "stored": COLOURS["store"],
    "supplied": COLOURS["port"],
    "dissipated": COLOURS["loss"],
    "unaccounted": COLOURS["unaccounted"],
}


def curve_style(name: str, curves: Iterable[str]) -> dict[str, Any]:
    """Return colour and dashes of a curve; the ghost's has the same colour, and is dotted."""
    own = name.removesuffix(GHOSTLY)
    k = [each for each in curves if not each.endswith(GHOSTLY)].index(own)
    style: dict[str, Any] = {"stroke": _MEANING.get(own, PALETTE[k % len(PALETTE)])}
    if own != name:
        return {**style, "dash": (3, 3)}
    return style if k < len(PALETTE) else {**style, "dash": (8, 4)}
