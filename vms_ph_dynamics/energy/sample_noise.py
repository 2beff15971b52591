# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The noise of sampled signals, from the samples themselves."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array

# The third difference of white noise has 20 times its variance (1 + 9 + 9 + 1).
_THIRD_DIFFERENCE = np.sqrt(20.0)

# The median of |x| of a normal variable, relative to its standard deviation.
_MEDIAN = 0.6744897501960817


def white_noise(x: Array) -> Array:
    """Return the standard deviation of the noise in each column, (columns,).

    Third differences remove what is smooth from sample to sample; their median does not see jumps.
    A signal in steps has at least the noise of its quantisation.

    Args:
        x: (N, columns) samples at a nearly constant rate.
    """
    if len(x) < 8:
        return np.zeros(x.shape[1])
    third = np.abs(np.diff(x, 3, axis=0))
    noise = np.median(third, axis=0) / (_MEDIAN * _THIRD_DIFFERENCE)
    return np.asarray(np.maximum(noise, quantum(x) / np.sqrt(12.0)))


def quantum(x: Array) -> Array:
    """Return the step of quantisation of each column, (columns,); zero where there is none seen.

    A column counts as quantised if it repeats a sample now and then while it changes, and all its
    changes are multiples of the least one.
    """
    steps = np.zeros(x.shape[1])
    for j in range(x.shape[1]):
        change = np.abs(np.diff(x[:, j]))
        moved = change[change > 0.0]
        if moved.size < 20 or moved.size == change.size:
            continue
        least = float(moved.min())
        if least < 1e-12 * float(moved.max()):
            continue
        multiple = moved / least
        if np.mean(np.abs(multiple - np.round(multiple)) < 0.05) > 0.95:
            steps[j] = least
    return steps


@dataclass(frozen=True)
class SampleNoise:
    """Standard deviations of the white noise of samples.

    Attributes:
        position: (nv,) of the configuration, in tangent coordinates.
        velocity: (nv,).
        effort: (n,).
    """

    position: Array
    velocity: Array
    effort: Array
