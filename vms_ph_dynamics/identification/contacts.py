# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts in a recording: when efforts differ from those of the model for a while."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..energy.regressor import EnergyRegressor
from ..model import VMSModel
from .result import Identification
from .torque import torque_windows
from .windows import FrictionLaw, Motion, balance

_THRESHOLD = 6.0  # standard deviations
_EVERY = 0.01  # s, between the efforts that are compared
_GAP = 0.3  # s, within which two excesses are one contact
_SHORTEST = 0.05  # s
_LARGEST_SHARE = 0.3  # of a recording; what lasts longer is a wrong model


@dataclass(frozen=True)
class Contact:
    """A contact.

    Attributes:
        begin, end: s.
        energy: that it brought into the robot, J.
        joint: whose effort differed most from that of the model.
        effort: by how much, N m or N.
        ratio: the same in standard deviations.
    """

    begin: float
    end: float
    energy: float
    joint: str
    effort: float
    ratio: float


def contacts(
    model: VMSModel,
    motion: Motion,
    identification: Identification,
    friction: FrictionLaw | None = None,
) -> tuple[Contact, ...]:
    """Return the contacts of a recording, in the order of time.

    The efforts are compared with those of the model with all that was identified. A contact begins
    where a joint differs by six standard deviations, by the median of the deviations, from what it
    differs by most of the time; a robust measure, as contacts are rare. Its energy is what the
    balance of the windows lacks meanwhile.
    """
    options = {
        "payload_frame": identification.frame,
        "friction": friction,
        "length": identification.length,
    }
    windows = balance(
        model,
        EnergyRegressor(model),
        motion,
        identification.unknowns,
        **options,  # type: ignore[arg-type]
    )
    unaccounted = windows.target - windows.columns @ identification.consistent
    every = max(1, round(_EVERY / float(np.median(np.diff(motion.samples.t)))))
    rows = torque_windows(
        model,
        motion,
        identification.unknowns,
        **options,  # type: ignore[arg-type]
        every=every,
    )
    n = model.n
    t = rows.begin[::n]
    error = ((rows.target - rows.columns @ identification.consistent) * rows.gross).reshape(-1, n)
    excess = error - np.median(error, axis=0)
    # Of a joint at rest the noise alone would be too small.
    size = rows.gross[:n]
    scale = 1.4826 * np.median(np.abs(excess), axis=0) + 0.01 * size + 0.003 * size.max()
    ratio = np.abs(excess) / scale
    largest = ratio.max(axis=1)
    intervals = []
    for first, last in _intervals(t, largest > _THRESHOLD):
        joint = int(np.argmax(ratio[first:last].max(axis=0)))
        at = first + int(np.argmax(ratio[first:last, joint]))
        # The balance of energy is exact from window to window, while errors of many joints add up.
        during = (windows.end > t[first]) & (windows.begin < t[last - 1])
        energy = -float(np.sum(unaccounted[during]))
        intervals.append(
            Contact(
                float(t[first]),
                float(t[last - 1]),
                energy,
                model.joint_names[joint],
                float(excess[at, joint]),
                float(ratio[at, joint]),
            )
        )
    lasting = sum(contact.end - contact.begin for contact in intervals)
    if len(t) and lasting > _LARGEST_SHARE * (t[-1] - t[0]):
        return ()
    return tuple(intervals)


def _intervals(t: Array, over: Array) -> list[tuple[int, int]]:
    """Return the first and the last index plus one of the intervals, joined across short gaps."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], over.astype(int), [0]]))).reshape(-1, 2)
    joined: list[list[int]] = []
    for first, last in edges.tolist():
        if joined and t[first] - t[joined[-1][1] - 1] < _GAP:
            joined[-1][1] = last
        else:
            joined.append([first, last])
    return [(a, b) for a, b in joined if t[b - 1] - t[a] >= _SHORTEST]
