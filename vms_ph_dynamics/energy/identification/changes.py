"""Changes of the load or of friction at once, from errors of prediction."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...arrays import Array
from .estimate import Estimate
from .windows import Windows

# Logarithm of how much likelier the windows must be with a change than without.
_EVIDENCE = 12.0
# How much worse the prediction must be than it usually is.
_WORSE = 6.0
_EVERY = 2  # windows between the times of a change that are tried


def change_of(
    windows: Windows,
    found: Estimate,
    size: int,
    groups: Mapping[str, Sequence[int]],
    usual: float,
) -> tuple[tuple[str, int] | None, float]:
    """Return the name of what changed and the index of the first window after, and the misfit.

    Windows are compared with what an estimate from earlier windows predicts. A change of a group
    adds to their covariance what was not known of that group beforehand; noise that has merely
    grown is the alternative.

    Args:
        windows: those since the estimate.
        found: an estimate from earlier windows.
        size: number of its unknowns that are those of the windows, the first ones.
        groups: places of the unknowns that change together, by name.
        usual: what the misfit usually is.

    Returns:
        The change or None, and the misfit: the mean square of the errors of prediction, relative to
        their variance.
    """
    error = windows.known - windows.columns @ found.mean[:size]
    # A blow is not a change: evidence must not hang on a few windows.
    calm = np.sort(np.argsort(np.abs(error))[: len(error) - 2 - len(error) // 10])
    windows, error = windows.chosen(calm), error[calm]
    columns = windows.columns
    spread = columns @ found.factor[:, :size].T
    ratio = float(np.median(found.scale)), float(np.median(windows.path))
    noise = np.full(len(windows), ratio[0] ** 2) * np.maximum(
        1.0, (windows.path / max(ratio[1], 1e-300)) ** 2
    )
    same = np.diag(noise) + spread @ spread.T
    base, misfit = _likelihood(error, same)
    if misfit < _WORSE * max(usual, 1.0):
        return None, misfit
    best: float = _EVIDENCE
    result: tuple[str, int] | None = None
    for name, places in groups.items():
        own = columns[:, places] * found.deviation[list(places)]
        for first in range(0, len(windows) - 4, _EVERY):  # at least five windows after it
            moved = own.copy()
            moved[:first] = 0.0
            evidence = _likelihood(error, same + moved @ moved.T)[0] - base
            if evidence > best:
                best, result = evidence, (name, int(calm[first]))
    return result, misfit


def _likelihood(error: Array, covariance: Array) -> tuple[float, float]:
    """Return the logarithm of the likelihood with the noise scaled to what it needs, and misfit."""
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, error)
    misfit = float(white @ white) / error.size
    scale = max(misfit, 1.0)
    logarithm = 2.0 * float(np.log(np.diag(root)).sum()) + error.size * np.log(scale)
    return -0.5 * (logarithm + float(white @ white) / scale), misfit
