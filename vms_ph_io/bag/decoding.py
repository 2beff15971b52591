"""Decoding of recorded bytes to messages, with the definitions stored in the bag."""

import struct
from collections.abc import Iterator
from typing import Protocol

from rosbags.interfaces.typing import Typesdict
from rosbags.serde import SerdeError
from rosbags.typesys import (
    Stores,
    TypesysError,
    get_types_from_idl,
    get_types_from_msg,
    get_typestore,
)
from rosbags.typesys.store import Typestore

from vms_ph_io.bag.errors import BagError

_SEPARATOR = "=" * 80 + "\n"


class Decoder(Protocol):
    """A function that decodes recorded bytes to a message."""

    def __call__(self, data: bytes) -> object:
        """Return the message; its fields are attributes."""


class SchemaDecoder:
    """Decodes the messages of one definition, which is parsed at the first message.

    Each definition has its own type store: two files of a bag may contain two versions of a type.

    Args:
        type_name: Name of the type, as in "sensor_msgs/msg/JointState".
        encoding: Encoding of the definition, "ros2msg" or "ros2idl".
        text: The definition, with the definitions of the types it uses.
        serialization_format: Serialization format of the messages; only "cdr" can be decoded.
    """

    def __init__(
        self, type_name: str, encoding: str, text: str, serialization_format: str = "cdr"
    ) -> None:
        self._type = type_name
        self._encoding = encoding
        self._text = text
        self._format = serialization_format
        self._store: Typestore | None = None

    def __call__(self, data: bytes) -> object:
        """Return the message; its fields are attributes.

        Raises:
            BagError: The definition is missing or malformed, or the bytes do not match it.
        """
        if self._store is None:
            self._store = self._make_store()
        try:
            return self._store.deserialize_cdr(data, self._type)
        except (SerdeError, struct.error, ValueError, LookupError) as error:
            raise BagError(f"a message of type {self._type} cannot be decoded: {error}") from None

    def _make_store(self) -> Typestore:
        if self._format != "cdr":
            raise BagError(
                f"messages of type {self._type} are in format {self._format!r}; only cdr is decoded"
            )
        store = get_typestore(Stores.EMPTY)
        try:
            for types in self._types():
                store.register(types)
        except TypesysError as error:
            raise BagError(
                f"the definition of {self._type} in the bag is malformed: {error}"
            ) from None
        if self._type not in store.fielddefs:
            raise BagError(f"the bag contains no definition of {self._type}")
        return store

    def _types(self) -> Iterator[Typesdict]:
        if self._encoding == "ros2msg":
            yield get_types_from_msg(self._text, self._type)
        elif self._encoding == "ros2idl":
            merged: Typesdict = {}
            for section in self._text.split(_SEPARATOR):
                heading, _, body = section.partition("\n")
                text = body if heading.startswith("IDL: ") else section
                if text.strip():
                    merged.update(get_types_from_idl(text))
            yield merged
