# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of the arrays that a user passes, read-only arrays, and terms computed on first use."""

from collections.abc import Callable, Sequence
from copy import copy
from math import isfinite
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from .errors import ModelError, StateError

Array = npt.NDArray[np.floating[Any]]


def summary(instance: object, *details: object) -> str:
    """Return one line that shows an object: its class, and arrays and texts about it."""
    return f"{type(instance).__name__}({', '.join(map(_short_text, details))})"


def _short_text(detail: object) -> str:
    if not isinstance(detail, np.ndarray):
        return str(detail)
    text = np.array2string(detail, precision=4, suppress_small=True, separator=", ", threshold=24)
    return " ".join(text.split())


class ArrayRecord:
    """A record of arrays, shown by their shapes; declare it with ``@dataclass(repr=False)``."""

    def __repr__(self) -> str:
        """Return the shapes, in one line."""
        arrays = {k: value for k, value in vars(self).items() if isinstance(value, np.ndarray)}
        return summary(self, *(f"{name} {array.shape}" for name, array in arrays.items()))


def vector(value: npt.ArrayLike | Sequence[Any], size: int, name: str) -> Array:
    """Return ``value`` as a float vector of the given size with finite entries.

    Args:
        value: anything that numpy converts to a vector.
        size: the number of entries it must have.
        name: name of the vector, for the error.

    Raises:
        StateError: the value has a wrong shape, is not numeric, or has an entry that is not finite.
    """
    try:
        x = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be {size} numbers; given: {value!r}") from None
    if x.shape != (size,):
        raise StateError(f"{name} must have shape ({size},); given: shape {x.shape}")
    # The square is not finite if an entry is not; the converse fails for large entries.
    if not isfinite(x.dot(x)) and not np.isfinite(x).all():
        indices = [i for i in range(size) if not isfinite(x[i])]
        raise StateError(f"{name} must be finite; entries {indices} are {x[indices].tolist()}")
    return x


def float_array(value: Any) -> Array:
    """Return what numpy makes of a value as numbers; an array without entries where it cannot."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(0)


def parameter(value: npt.ArrayLike | Sequence[Any], size: int, name: str) -> Array:
    """Return :func:`vector` of a number in the description of a robot or of what acts on it.

    Raises:
        ModelError: the vector has another size or entries that are not finite.
    """
    try:
        return vector(value, size, name)
    except StateError as error:
        raise ModelError(str(error)) from None


def is_finite(x: Array) -> bool:
    """Return whether the sum of a vector is finite, as it is of finite numbers short of 1e308.

    Of few numbers, the sum in Python takes a quarter of the time of numpy's, without its warnings.
    """
    return isfinite(sum(x.tolist()))


def exceeds(x: Array, bound: Array) -> bool:
    """Return whether the size of an entry of a vector is above its bound; that of NaN is not."""
    return True in (abs(x) > bound).tolist()


def frozen(x: Array) -> Array:
    """Return ``x`` with its write flag cleared."""
    x.flags.writeable = False
    return x


def restore(instance: Any, state: dict[str, Any]) -> None:
    """Give an object the parts of a copy or a pickle, whose arrays were read-only."""
    for value in state.values():
        if isinstance(value, np.ndarray):
            frozen(value)
    vars(instance).update(state)


def zeros(*shape: int) -> Array:
    """Return a read-only array of zeros."""
    return frozen(np.zeros(shape))


T = TypeVar("T")


def copy_with(instance: T, **attributes: Any) -> T:
    """Return a shallow copy of an object with other parts."""
    duplicate = copy(instance)
    vars(duplicate).update(attributes)
    return duplicate


class cached_property(Generic[T]):
    """A property that is computed on first use and kept, as ``functools.cached_property``.

    That one takes a lock at every first use before Python 3.12, which an immutable snapshot does
    not need: two threads that compute the same term at once find the same value.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name under which the value is kept."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> "cached_property[T]": ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(
        self, instance: object | None, owner: type | None = None
    ) -> "cached_property[T] | T":
        """Return the value of an object, or the property itself of a class."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
