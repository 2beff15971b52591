# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A property that is computed on first use."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


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
