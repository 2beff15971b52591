# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Message and service classes, built on first use from their definitions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from vms_ph_embedded.interfaces import store
from vms_ph_embedded.interfaces.fields import Field, NumericSequenceField, make_field

_PLACEHOLDER = "structure_needs_at_least_one_member"  # DDS has no empty types


class MessageMeta(type):
    """The type of all message classes; each class gets a subtype that holds its constants."""

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"


class Message(metaclass=MessageMeta):
    """Base of all message classes."""

    __slots__ = ()
    __hash__: ClassVar[None]  # type: ignore[assignment]  # messages are mutable
    __msgtype__: ClassVar[str]
    __fields__: ClassVar[tuple[Field, ...]] = ()
    __defaults__: ClassVar[dict[str, Any]] = {}
    __passes_through__: ClassVar[bool]
    __wire__: ClassVar[type]

    def __init__(self, *, check_fields: bool = True, **kwargs: Any) -> None:
        # check_fields is accepted for compatibility with rosidl; fields are always checked here.
        for field in self.__fields__:
            if field.name in kwargs:
                value = field.from_argument(kwargs.pop(field.name))
            elif field.name in self.__defaults__:
                value = field.from_argument(self.__defaults__[field.name])
            else:
                value = field.default()
            setattr(self, field.slot, value)
        if kwargs:
            raise AssertionError(
                f"Invalid arguments passed to constructor: {', '.join(sorted(kwargs))}"
            )

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """The names of the fields with their types."""
        return {field.name: field.type_name for field in cls.__fields__}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return False
        slots = (field.slot for field in self.__fields__)
        return all(np.all(getattr(self, slot) == getattr(other, slot)) for slot in slots)

    def __repr__(self) -> str:
        field_texts = []
        for field in self.__fields__:
            value = getattr(self, field.slot)
            is_numbers = isinstance(field, NumericSequenceField)
            field_texts.append(f"{field.name}={value.tolist() if is_numbers else value!r}")
        return f"{type(self).__module__}.{type(self).__name__}({', '.join(field_texts)})"

    def __to_wire__(self) -> Any:
        """This message as rosbags serialises it: itself when all fields can stay as they are."""
        if self.__passes_through__:
            return self
        wire_message = self.__wire__()
        for field in self.__fields__:
            setattr(wire_message, field.name, field.to_wire(getattr(self, field.slot)))
        return wire_message

    @classmethod
    def __from_wire__(cls, *values: Any) -> Any:
        """Make a message of values that rosbags has deserialised, without checks."""
        message = cls.__new__(cls)
        for field, value in zip(cls.__fields__, values, strict=True):
            setattr(message, field.slot, field.from_wire(value))
        return message


_interface_classes: dict[str, Any] = {}
_build_lock = threading.RLock()


def message_class(typename: str) -> Any:
    """The class of a message type such as ``std_msgs/msg/Header``."""
    return _interface_classes.get(typename) or _build_once(typename, _build_message)


def service_class(typename: str) -> Any:
    """The class of a service type such as ``std_srvs/srv/Trigger``, with Request and Response."""
    return _interface_classes.get(typename) or _build_once(typename, _build_service)


def _build_once(typename: str, build: Callable[[str], Any]) -> Any:
    with _build_lock:
        if typename not in _interface_classes:
            _interface_classes[typename] = build(typename)
        return _interface_classes[typename]


def _build_message(typename: str) -> Any:
    package, kind, name = typename.split("/")
    field_descs = [(n, desc) for n, desc in store.fields(typename) if n != _PLACEHOLDER]
    fields = tuple(make_field(n, desc, message_class) for n, desc in field_descs)
    constants = store.constants(typename)
    defaults = store.defaults(typename)
    class_attributes = {
        **constants,
        **{f"{key.upper()}__DEFAULT": value for key, value in defaults.items()},
    }

    # Constants are read-only on the class because they are properties of its metaclass.
    metaclass = type(
        f"Metaclass_{name}",
        (MessageMeta,),
        {key: property(_constant_getter(value)) for key, value in class_attributes.items()},
    )
    namespace: dict[str, Any] = {
        **class_attributes,
        **{field.name: property(attrgetter(field.slot), _setter(field)) for field in fields},
        "__slots__": tuple(field.slot for field in fields),
        "__module__": f"{package}.{kind}",
        "__doc__": f"Message class '{name}'.",
        "__msgtype__": typename,
        "__hash__": None,
        "__fields__": fields,
        "__defaults__": defaults,
        "__passes_through__": bool(fields) and all(field.passes_through for field in fields),
        "__wire__": type(name, (), {"__slots__": tuple(field.name for field in fields)}),
    }
    if not fields:
        namespace["__to_wire__"] = lambda _: _EmptyWireMessage
        namespace["__from_wire__"] = classmethod(lambda cls, _: cls())
    new_class = metaclass(name, (Message,), namespace)
    store.set_factory(typename, new_class.__from_wire__)
    return new_class


def _constant_getter(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


def _setter(field: Field) -> Any:
    slot, to_stored = field.slot, field.to_stored

    def setter(self: Message, value: Any) -> None:
        setattr(self, slot, to_stored(value))

    return setter


class _EmptyWireMessage:
    structure_needs_at_least_one_member = 0


class ServiceMeta(type):
    """The type of all service classes."""


def _build_service(typename: str) -> Any:
    package, _, name = typename.split("/")
    return ServiceMeta(
        name,
        (),
        {
            "__module__": f"{package}.srv",
            "__doc__": f"Service class '{name}'.",
            "__srvtype__": typename,
            "Request": message_class(f"{typename}_Request"),
            "Response": message_class(f"{typename}_Response"),
        },
    )


def serialize(message: Any) -> bytes:
    """The CDR bytes of a message."""
    return store.serialize(message.__to_wire__(), message.__msgtype__)


class DecodingError(ValueError):
    """Received bytes are not a message of the type of their topic."""


def deserialize(data: bytes, message_type: Any) -> Any:
    """A message of a class from CDR bytes.

    Raises:
        DecodingError: the bytes are truncated, too many, or contain an invalid value.
    """
    try:
        return store.deserialize(data, message_type.__msgtype__)
    except Exception as error:  # a decoder may raise any exception for invalid bytes
        reason = str(error) or type(error).__name__
        raise DecodingError(
            f"{len(data)} bytes are no {message_type.__msgtype__}: {reason}"
        ) from None
