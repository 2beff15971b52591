# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of message classes: validation, defaults and conversion for serialization."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections import UserList, UserString
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

from vms_ph_embedded.interfaces.elements import NUMBERS, Element, make_element, require


class Field(ABC):
    """One field of a message class."""

    passes_through = False  # rosbags can read and write the Python value as it is

    def __init__(self, name: str, element: Element, type_name: str) -> None:
        self.name = name
        self.slot = f"_{name}"
        self.element = element
        self.type_name = type_name

    @abstractmethod
    def to_stored(self, value: Any) -> Any:
        """Return the value to store, or raise AssertionError."""

    @abstractmethod
    def default(self) -> Any:
        """A fresh default value."""

    @abstractmethod
    def to_wire(self, value: Any) -> Any:
        """The value as rosbags serialises it."""

    @abstractmethod
    def from_wire(self, value: Any) -> Any:
        """The value to store for what rosbags has deserialised."""

    def from_argument(self, value: Any) -> Any:
        """Return the value for a constructor argument; numeric collections accept more types."""
        return self.to_stored(value)


class ScalarField(Field):
    """A single value."""

    def __init__(self, name: str, element: Element) -> None:
        super().__init__(name, element, element.idl_name)
        self.passes_through = element.passes_through

    def to_stored(self, value: Any) -> Any:
        """The value, if its type and range are right."""
        self.element.check(self.name, value)
        return value

    def default(self) -> Any:
        """The default of the element."""
        return self.element.default()

    def to_wire(self, value: Any) -> Any:
        """The element as rosbags serialises it."""
        return self.element.to_wire(value)

    def from_wire(self, value: Any) -> Any:
        """The element as Python holds it."""
        return self.element.from_wire(value)


class CollectionField(Field):
    """An array or a sequence; a length is exact for an array and a limit for a sequence."""

    def __init__(self, name: str, element: Element, length: int, *, is_array: bool) -> None:
        if is_array:
            type_name = f"{element.idl_name}[{length}]"
        else:
            limit_suffix = f", {length}" if length else ""
            type_name = f"sequence<{element.idl_name}{limit_suffix}>"
        super().__init__(name, element, type_name)
        self.length = length
        self.is_array = is_array
        rule_parts = [
            "a set or sequence",
            f"with length {'' if is_array else '<= '}{length}" if length else "",
            f"and each string value not longer than {n}" if (n := element.max_length) else "",
            f"and each value of type '{element.python_type.__name__}'",
            element.element_rule,
        ]
        self._rule = f"The '{name}' field must be {' '.join(part for part in rule_parts if part)}"

    def require_accepted(self, value: Any) -> None:
        """Raise AssertionError unless a collection of any kind has the right size and elements."""
        require(self._accepts(value), self._rule)

    def _accepts(self, value: Any) -> bool:
        if not isinstance(value, (Sequence, Set, UserList)) or isinstance(value, (str, UserString)):
            return False
        length = len(value)
        if self.length and (length != self.length if self.is_array else length > self.length):
            return False
        element_type, in_range = self.element.python_type, self.element.in_range
        return all(isinstance(item, element_type) for item in value) and (
            in_range is None or all(map(in_range, value))
        )


class ListField(CollectionField):
    """Strings, messages, booleans and bytes: a Python list."""

    def __init__(self, name: str, element: Element, length: int, *, is_array: bool) -> None:
        super().__init__(name, element, length, is_array=is_array)
        self._is_bytes = element.python_type in (bool, bytes)  # rosbags wants these as numpy bytes
        self.passes_through = element.passes_through and not self._is_bytes

    def to_stored(self, value: Any) -> Any:
        """The collection as it is, if its elements are right."""
        self.require_accepted(value)
        return value

    def default(self) -> Any:
        """As many defaults as an array has elements."""
        return [self.element.default() for _ in range(self.length)] if self.is_array else []

    def to_wire(self, value: Any) -> Any:
        """The elements as rosbags serialises them."""
        items = list(map(self.element.to_wire, value))
        return np.array(items, dtype=np.int8) if self._is_bytes else items

    def from_wire(self, value: Any) -> Any:
        """The elements as Python holds them."""
        return list(map(self.element.from_wire, value.tolist() if self._is_bytes else value))


class NumericArrayField(CollectionField):
    """A fixed number of numbers: a numpy array."""

    passes_through = True

    def __init__(self, name: str, element: Element, number_type: str, length: int) -> None:
        super().__init__(name, element, length, is_array=True)
        self._dtype = np.dtype(number_type)

    def to_stored(self, value: Any) -> Any:
        """A numpy array of the right type as it is, or a new one from any collection."""
        if not isinstance(value, np.ndarray):
            self.require_accepted(value)
            return np.array(value, dtype=self._dtype)
        rule_start = f"The '{self.name}' numpy.ndarray() must have"
        require(value.dtype == self._dtype, f"{rule_start} the dtype of 'numpy.{self._dtype.name}'")
        require(value.size == self.length, f"{rule_start} a size of {self.length}")
        return value if value.flags.c_contiguous else np.ascontiguousarray(value)

    def default(self) -> Any:
        """Zeros."""
        return np.zeros(self.length, dtype=self._dtype)

    def from_argument(self, value: Any) -> Any:
        """A new array from whatever numpy takes."""
        checked_array = self.to_stored(np.array(value, dtype=self._dtype))
        require(checked_array.shape == (self.length,), f"The '{self.name}' array must be flat")
        return checked_array

    def to_wire(self, value: Any) -> Any:
        """The array itself."""
        return value

    def from_wire(self, value: Any) -> Any:
        """A copy: what rosbags gives is a read-only view of the bytes."""
        return value.copy()


class NumericSequenceField(CollectionField):
    """Any number of numbers: an array.array."""

    def __init__(self, name: str, element: Element, number_type: str, limit: int) -> None:
        super().__init__(name, element, limit, is_array=False)
        self._type_code = NUMBERS[number_type][1]

    def to_stored(self, value: Any) -> Any:
        """An array.array of the right type as it is, or a new one from any collection."""
        if not isinstance(value, array):
            self.require_accepted(value)
            return array(self._type_code, value)
        rule = f"The '{self.name}' array.array() must have"
        require(value.typecode == self._type_code, f"{rule} the type code of '{self._type_code}'")
        require(not self.length or len(value) <= self.length, f"{rule} a size <= {self.length}")
        return value

    def default(self) -> Any:
        """Nothing."""
        return array(self._type_code)

    def from_argument(self, value: Any) -> Any:
        """A new array from whatever array.array takes, numpy arrays included."""
        return self.to_stored(array(self._type_code, value))

    def to_wire(self, value: Any) -> Any:
        """A numpy view of the numbers."""
        return np.asarray(value)

    def from_wire(self, value: Any) -> Any:
        """The numbers as array.array."""
        return array(self._type_code, value.tobytes())


def make_field(name: str, desc: Any, find_class: Callable[[str], Any]) -> Field:
    """The field for a description of rosbags; `find_class` gives the class of a nested type."""
    kind, detail = desc
    if kind not in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        return ScalarField(name, make_element(desc, find_class))
    element_desc, length = detail
    element = make_element(element_desc, find_class)
    number_type = element_desc[1][0] if element_desc[0] == Nodetype.BASE else ""
    if number_type in NUMBERS and kind == Nodetype.ARRAY:
        return NumericArrayField(name, element, number_type, length)
    if number_type in NUMBERS:
        return NumericSequenceField(name, element, number_type, length)
    return ListField(name, element, length, is_array=kind == Nodetype.ARRAY)
