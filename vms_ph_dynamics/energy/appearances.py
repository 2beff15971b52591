# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""When and where energy appears or disappears in a ledger, and ports that supply too much."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..arrays import Array
from .ledger import Ledger

_WINDOW = 0.1  # s, at least
_WINDOWS = 2000  # of a recording, at most
_UNUSUAL = 4.0  # robust standard deviations of the unaccounted power
_MEDIAN = 1.4826  # standard deviation of a normal variable per median absolute deviation
_LEAST = 1e-3  # of the gross energy


@dataclass(frozen=True)
class UnaccountedInterval:
    """Energy that appeared (positive) or disappeared over some time, unaccounted for.

    Attributes:
        begin, end: s.
        energy: J.
        shares: energy by momentum balance, largest first, J: where it happened.
    """

    begin: float
    end: float
    energy: float
    shares: dict[str, float]


@dataclass(frozen=True)
class PortSupply:
    """What a port, or what is unexplained at a joint, supplied at most.

    A passive neighbour can never have supplied more than it took before: ``net`` is a violation of
    its passivity where it is positive beyond the noise.

    Attributes:
        name: of the port or joint.
        net: largest supplied energy since the start, J; at least zero.
        time: when, s.
        rise: largest energy supplied over any time, J, from ``rise_begin`` to ``rise_end``, s.
        violates: whether ``net`` is beyond the noise.
    """

    name: str
    net: float
    time: float
    rise: float
    rise_begin: float
    rise_end: float
    violates: bool


def appearances(ledger: Ledger, most: int = 20) -> list[UnaccountedInterval]:
    """Return when and where energy appeared or disappeared, the largest first."""
    time, unaccounted = ledger.time, ledger.series["unaccounted"]
    duration = float(time[-1] - time[0])
    if len(time) < 4 or duration <= 0.0:
        return []
    step = max(_WINDOW, duration / _WINDOWS)
    edges = np.arange(0.0, duration + step, step) + time[0]
    edges[-1] = time[-1]
    edges = np.unique(np.clip(edges, time[0], time[-1]))
    energy = np.diff(np.interp(edges, time, unaccounted))
    rate = energy / np.diff(edges)
    usual = float(np.median(rate))
    spread = _MEDIAN * float(np.median(np.abs(rate - usual)))
    unusual = np.abs(rate - usual) > max(_UNUSUAL * spread, 1e-12)
    sign = np.where(unusual, np.sign(rate - usual), 0.0)
    at_joints = np.array(
        [np.interp(edges, time, column) for column in ledger.series["residual_by_joint"].T]
    )
    band = np.interp(edges, time, ledger.band)
    intervals = []
    for first, behind in _runs(sign):
        total = float(energy[first:behind].sum())
        noise = float(band[behind] - band[first])
        if abs(total) < max(_LEAST * ledger.gross, 2.0 * noise):
            continue
        parts = at_joints[:, behind] - at_joints[:, first]
        order = np.argsort(-np.abs(parts))
        shares = {ledger.balanced[k]: float(parts[k]) for k in order[:3]}
        intervals.append(
            UnaccountedInterval(float(edges[first]), float(edges[behind]), total, shares)
        )
    return sorted(intervals, key=lambda a: -abs(a.energy))[:most]


def supplies(ledger: Ledger) -> list[PortSupply]:
    """Return what each wrench port, and what is unexplained at each joint, supplied at most."""
    noise = float(ledger.band[-1])
    least = max(noise, _LEAST * ledger.gross)
    ports = []
    for names, key in ((ledger.ports, "supplied_by_port"), (ledger.balanced, "residual_by_joint")):
        for name, energy in zip(names, ledger.series[key].T, strict=True):
            ports.append(_supply(name, ledger.time, energy, least))
    return ports


def _supply(name: str, time: Array, energy: Array, least: float) -> PortSupply:
    top = int(np.argmax(energy))
    lowest = np.minimum.accumulate(energy)
    end = int(np.argmax(energy - lowest))
    begin = int(np.argmin(energy[: end + 1]))
    net = max(float(energy[top]), 0.0)
    rise = float(energy[end] - energy[begin])
    return PortSupply(
        name, net, float(time[top]), rise, float(time[begin]), float(time[end]), net > least
    )


def _runs(sign: Array) -> list[tuple[int, int]]:
    """Return (first, behind) of the runs of equal signs that are not zero."""
    borders = [0, *(np.flatnonzero(np.diff(sign)) + 1).tolist(), len(sign)]
    return [(a, b) for a, b in pairwise(borders) if b > a and sign[a] != 0.0]
