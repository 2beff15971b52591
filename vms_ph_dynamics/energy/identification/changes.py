"""Changes of the load or of friction at once, from errors of prediction."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...arrays import Array
from .estimate import Estimate
from .windows import Windows

# Logarithm of how much likelier the windows must be with a change than without.
_EVIDENCE = 12.0
_EVERY = 2  # windows between the times of a change that are tried


def change_of(
    windows: Windows, found: Estimate, size: int, groups: Mapping[str, Sequence[int]]
) -> tuple[str, int] | None:
    """Return the name of what changed, and the index of the first window after the change.

    Windows are compared with what an estimate from earlier windows predicts. A change of a group
    adds to their covariance what was not known of that group beforehand; noise that has merely
    grown is the alternative.

    Args:
        windows: those since the estimate.
        found: an estimate from earlier windows.
        size: number of its unknowns that are those of the windows, the first ones.
        groups: places of the unknowns that change together, by name.
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
    base = _likelihood(error, same)
    best, result = _EVIDENCE, None
    for name, places in groups.items():
        own = columns[:, places] * found.deviation[list(places)]
        for first in range(0, len(windows) - 4, _EVERY):  # at least five windows after it
            moved = own.copy()
            moved[:first] = 0.0
            evidence = _likelihood(error, same + moved @ moved.T) - base
            if evidence > best:
                best, result = evidence, (name, int(calm[first]))
    return result


def _likelihood(error: Array, covariance: Array) -> float:
    """Return the logarithm of the likelihood with the noise scaled up to what it needs."""
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, error)
    scale = max(float(white @ white) / error.size, 1.0)
    logarithm = 2.0 * float(np.log(np.diag(root)).sum()) + error.size * np.log(scale)
    return -0.5 * (logarithm + float(white @ white) / scale)
