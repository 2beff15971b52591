# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Quantiles of the chi-square distribution, without a library of statistics."""

from math import exp, lgamma, log

# Terms of the series and of the continued fraction, and halvings of the interval: beyond the
# accuracy of a double for the dimensions and probabilities that occur.
_TERMS, _HALVINGS = 500, 200


def chi_square_tail(value: float, dimension: int) -> float:
    """Return the probability that a chi-square variable exceeds a value."""
    a, x = 0.5 * dimension, 0.5 * value
    if x <= 0.0:
        return 1.0
    front = exp(a * log(x) - x - lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for i in range(1, _TERMS):
            term *= x / (a + i)
            total += term
            if term < 1e-17 * total:
                break
        return max(0.0, 1.0 - front * total)
    # Lentz's continued fraction of the upper incomplete gamma function.
    tiny = 1e-300
    b = x + 1.0 - a
    c, d = 1.0 / tiny, 1.0 / b
    h = d
    for i in range(1, _TERMS):
        an = -i * (i - a)
        b += 2.0
        d = 1.0 / (an * d + b or tiny)
        c = b + an / c or tiny
        h *= d * c
        if abs(d * c - 1.0) < 1e-16:
            break
    return front * h


def chi_square_quantile(tail: float, dimension: int) -> float:
    """Return the value that a chi-square variable exceeds with probability ``tail``."""
    low, high = 0.0, 1.0
    while chi_square_tail(high, dimension) > tail and high < 1e6:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if chi_square_tail(middle, dimension) > tail:
            low = middle
        else:
            high = middle
    return high
