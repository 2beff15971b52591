# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Changes of the load or of friction at once, from errors of prediction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from .estimate import Estimate
from .windows import Windows

# Logarithm of how much likelier the windows must be with a change than without.
_EVIDENCE = 12.0
# How much worse the prediction must be than it usually is.
_WORSE = 6.0
_EVERY = 2  # windows between the times of a change that are tried
# What is likelier by less than this than the best explanation may have changed as well.
_AMBIGUOUS = 8.0
_ENOUGH = 20  # windows after a change that tell what it is


@dataclass(frozen=True)
class Change:
    """What changed at once.

    Attributes:
        names: of the groups that may have changed, the likeliest first.
        first: index of the first window after it.
        significant: whether there are enough windows after it to tell what changed.
    """

    names: tuple[str, ...]
    first: int
    significant: bool


def change_of(
    windows: Windows,
    previous: Estimate,
    size: int,
    groups: Mapping[str, Sequence[int]],
    usual: float,
) -> tuple[Change | None, float]:
    """Return what changed, and the misfit.

    Windows are compared with what an estimate from earlier windows predicts. A change of a group
    adds to their covariance what was not known of that group beforehand; noise that has merely
    grown is the alternative.

    Args:
        windows: those since the estimate.
        previous: an estimate from earlier windows.
        size: number of its unknowns that are those of the windows, the first ones.
        groups: places of the unknowns that change together, by name.
        usual: what the misfit usually is.

    Returns:
        The change or None, and the misfit: the mean square of the errors of prediction, relative to
        their variance.
    """
    error = windows.target - windows.columns @ previous.mean[:size]
    # A blow is not a change: evidence must not hang on a few windows.
    calm = np.sort(np.argsort(np.abs(error))[: len(error) - 2 - len(error) // 10])
    before, windows, error = windows, windows.chosen(calm), error[calm]
    columns = windows.columns
    spread = columns @ previous.factor[:, :size].T
    ratio = float(np.median(previous.scale)), float(np.median(windows.path))
    noise = np.full(len(windows), ratio[0] ** 2) * np.maximum(
        1.0, (windows.path / max(ratio[1], 1e-300)) ** 2
    )
    same = np.diag(noise) + spread @ spread.T
    base, misfit = _likelihood(error, same)
    if misfit < _WORSE * max(usual, 1.0):
        return None, misfit
    evidence: dict[str, tuple[float, int]] = {}
    for name, places in groups.items():
        weighted = columns[:, places] * previous.deviation[list(places)]
        tried = []
        for first in range(0, len(windows) - 4, _EVERY):  # at least five windows after it
            shifted = weighted.copy()
            shifted[:first] = 0.0
            tried.append((_likelihood(error, same + shifted @ shifted.T)[0] - base, first))
        if tried:
            evidence[name] = max(tried)
    order = sorted(evidence, key=lambda name: -evidence[name][0])
    if not order or evidence[order[0]][0] <= _EVIDENCE:
        return None, misfit
    most, first = evidence[order[0]]
    names = tuple(name for name in order if evidence[name][0] > most - _AMBIGUOUS)
    begin = int(calm[first])
    return Change(names, begin, len(before) - begin >= _ENOUGH), misfit


def _likelihood(error: Array, covariance: Array) -> tuple[float, float]:
    """Return the logarithm of the likelihood with the noise scaled to what it needs, and misfit."""
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, error)
    misfit = float(white @ white) / error.size
    scale = max(misfit, 1.0)
    logarithm = 2.0 * float(np.log(np.diag(root)).sum()) + error.size * np.log(scale)
    return -0.5 * (logarithm + float(white @ white) / scale), misfit
