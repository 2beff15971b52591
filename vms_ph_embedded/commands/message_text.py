# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of messages to and from YAML text, for the command line."""

import array
import re
from typing import Any

import numpy as np
import yaml

from vms_ph_dynamics import VmsPhError
from vms_ph_io.settings.bounded_text import YamlError, parse_yaml
from vms_ph_nodes.topics.interfaces import load_interface

_SEQUENCE_TYPE = re.compile(r"^sequence<(?P<item>.+?)(, \d+)?>$|^(?P<fixed>.+)\[\d+\]$")


def to_plain(message: Any) -> Any:
    """Return a message as dictionaries, lists and numbers."""
    if hasattr(message, "get_fields_and_field_types"):
        return {name: to_plain(getattr(message, name)) for name in _field_names(message)}
    if isinstance(message, (np.ndarray, array.array)):
        return message.tolist()
    if isinstance(message, (list, tuple)):
        return [to_plain(item) for item in message]
    if isinstance(message, bytes):
        return message[0] if len(message) == 1 else list(message)
    return message


def to_yaml(message: Any) -> str:
    """Return a message as YAML, in the order of its fields, with numeric sequences on one line."""
    return yaml.dump(to_plain(message), Dumper=_Dumper, sort_keys=False, width=10**6).rstrip()


def set_fields(message: Any, fields: Any, location: str = "") -> Any:
    """Set the fields of a message from nested dictionaries and return it.

    Raises:
        VmsPhError: a field does not exist, or a value has the wrong type.
    """
    if not isinstance(fields, dict):
        raise VmsPhError(
            f"{location or 'the message'} expects fields as {{name: value}}; given: {fields!r}"
        )
    types = message.get_fields_and_field_types()
    for name, value in fields.items():
        path = f"{location}.{name}" if location else name
        if name not in types:
            raise VmsPhError(f"there is no field '{path}'; there are {', '.join(types) or 'none'}")
        current_value = getattr(message, name)
        if hasattr(current_value, "get_fields_and_field_types"):
            set_fields(current_value, value, path)
            continue
        try:
            setattr(message, name, _converted(types[name], value, current_value, path))
        except (AssertionError, TypeError, ValueError, OverflowError) as error:
            reason = " ".join(str(error).split())
            raise VmsPhError(f"'{path}' is a {types[name]}; given: {value!r} ({reason})") from None
    return message


def parse(text: str) -> Any:
    """Return the values of a YAML text.

    Raises:
        VmsPhError: the text is not YAML.
    """
    try:
        values = parse_yaml(text)
    except YamlError as error:
        raise VmsPhError(f"not YAML: {error}") from None
    return {} if values is None else values


def _field_names(message: Any) -> list[str]:
    return list(message.get_fields_and_field_types())


def _converted(type_name: str, value: Any, current_value: Any, location: str) -> Any:
    match = _SEQUENCE_TYPE.match(type_name)
    if match and "/" in (item_type := match["item"] or match["fixed"]):
        if not isinstance(value, list):
            raise TypeError("a list is expected")
        message_class = load_interface(item_type, "msg")
        return [set_fields(message_class(), v, f"{location}[{i}]") for i, v in enumerate(value)]
    if match and type_name.startswith(("sequence<double", "sequence<float", "double[", "float[")):
        return [float(x) for x in value]
    if isinstance(current_value, float) and isinstance(value, (int, str)) and value is not True:
        return float(value)
    if isinstance(current_value, bytes):
        return bytes([value])
    if isinstance(current_value, str) and isinstance(value, (int, float)):
        return str(value)
    return value


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes numeric sequences on one line."""


def _represent_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    is_flat = all(isinstance(item, (int, float, str)) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=is_flat)


_Dumper.add_representer(list, _represent_list)
