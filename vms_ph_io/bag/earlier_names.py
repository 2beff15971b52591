# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Translation of bags that were recorded with earlier names of topics, types and fields.

A bag contains the definitions it was recorded with, so that it can always be decoded; replay, plots
and summaries use the present names and read a bag through :class:`PresentNames`.
"""

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, cast

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.interfaces.typing import FieldDesc

from ..installation import share_directory
from ..settings.yaml_files import read_mapping
from .messages import BagMessage, SchemaDecoder
from .types import MessageTypes

_NAMES = read_mapping(share_directory() / "config/names/earlier_names.yaml")
TOPICS, TYPES, FIELDS = _NAMES["topics"], _NAMES["types"], _NAMES["fields"]
"""Earlier to present names: of topics without namespace, of types, of fields by recorded type."""


@lru_cache(4096)
def present_topic(name: str) -> str:
    """Return the present name of a topic, in its namespace."""
    for old_name, new_name in TOPICS.items():
        if name == old_name or name.endswith(f"/{old_name}"):
            return name.removesuffix(old_name) + new_name
    return name


def present_type(name: str) -> str:
    """Return the present name of a message type."""
    return TYPES.get(name, name)


class PresentNames:
    """Translates the messages of a bag into the present names and definitions."""

    def __init__(self) -> None:
        self._is_earlier: dict[SchemaDecoder, bool] = {}
        self._decoders: dict[str, SchemaDecoder] = {}

    def translate(self, message: BagMessage) -> BagMessage:
        """Return a message with its present topic and, if the type has changed, its definition.

        Fields that the recorded definition lacks are empty.

        Raises:
            BagError: The bytes do not fit the recorded definition.
        """
        topic, kind = present_topic(message.topic), present_type(message.type)
        if not self._has_earlier_fields(message):
            return message if topic == message.topic else replace(message, topic=topic)
        if kind not in self._decoders:
            self._decoders[kind] = SchemaDecoder(_types().definition(kind))
        data = _serialise(kind, message.decode(), FIELDS[message.type])
        return replace(message, topic=topic, type=kind, data=data, decoder=self._decoders[kind])

    def _has_earlier_fields(self, message: BagMessage) -> bool:
        """Return whether the definition in the bag is an earlier one (cached by definition)."""
        fields, decoder = FIELDS.get(message.type), message.decoder
        if fields is None or decoder is None:
            return False
        if decoder not in self._is_earlier:
            recorded_fields = vars(message.decode())
            self._is_earlier[decoder] = any(name in recorded_fields for name in fields)
        return self._is_earlier[decoder]


_types = cache(MessageTypes.of_project)


def _serialise(kind: str, recorded_message: object, new_names: dict[str, str]) -> bytes:
    """Return a recorded message serialised with the present definition of its type."""
    store = _types().store
    values: dict[str, Any] = dict(vars(recorded_message))
    values.update({new: values[old] for old, new in new_names.items() if old in values})
    fields = store.fielddefs[kind][1]
    fields_now = {name: values[name] if name in values else _default(desc) for name, desc in fields}
    return bytes(store.serialize_cdr(store.types[kind](**fields_now), kind))


def _default(description: FieldDesc) -> Any:
    """Return the default of a number, string or sequence that was not recorded."""
    node_type, content = description
    if node_type == Nodetype.SEQUENCE:
        element = cast("tuple[FieldDesc, int]", content)[0]
        return [] if element[1] == ("string", 0) else np.zeros(0, dtype=cast(str, element[1][0]))
    return "" if content == ("string", 0) else 0
