# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The store of all interface definitions, and conversion to and from CDR bytes.

Standard messages come from the type store of rosbags, standard services from built-in texts, and
interfaces of a registered package from its msg and srv folders.
"""

from __future__ import annotations

import functools
import os
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from vms_ph_embedded.interfaces.standard_services import STANDARD_SERVICES

# The nonzero default values of fields, which the type store does not have.
STANDARD_DEFAULTS: dict[str, dict[str, Any]] = {
    "geometry_msgs/msg/Quaternion": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
    "rcl_interfaces/msg/ParameterDescriptor": {"read_only": False, "dynamic_typing": False},
    "sensor_msgs/msg/NavSatStatus": {"status": -2},
    "type_description_interfaces/msg/FieldType": {"type_id": 0},
}

FieldDesc = tuple[int, Any]

_share_folders: dict[str, Path] = {}
_defaults: dict[str, dict[str, Any]] = dict(STANDARD_DEFAULTS)


def add_package(package: str, share: Path) -> None:
    """Read the interfaces of a package from the msg and srv folders of its share."""
    _share_folders[package] = share


def interface_names(package: str, kind: str) -> list[str]:
    """The names of all interfaces of a kind ("msg" or "srv") in a package."""
    if package in _share_folders:
        return sorted(path.stem for path in (_share_folders[package] / kind).glob(f"*.{kind}"))
    definitions = _store().fielddefs if kind == "msg" else STANDARD_SERVICES
    prefix = f"{package}/{kind}/"
    return sorted(name[len(prefix) :] for name in definitions if name.startswith(prefix))


def fields(typename: str) -> list[tuple[str, FieldDesc]]:
    """The fields of a message, each with its description as rosbags writes it."""
    return _definition(typename)[1]


def constants(typename: str) -> dict[str, Any]:
    """The constants of a message by name."""
    return {
        name: bytes([value]) if kind == "byte" else value
        for name, kind, value in _definition(typename)[0]
    }


def defaults(typename: str) -> dict[str, Any]:
    """The default values that the definition of a message gives to some of its fields."""
    _definition(typename)
    return _defaults.get(typename, {})


@functools.cache
def type_hash(typename: str) -> str:
    """Return the RIHS01 hash of a message type, which ROS nodes exchange."""
    _definition(typename)
    return _store().hash_rihs01(typename)


def set_factory(typename: str, factory: Callable[..., Any]) -> None:
    """Build the deserialised messages of a type by a function of the field values."""
    _store().types[typename] = factory


def serialize(wire_message: object, typename: str) -> bytes:
    """The CDR bytes of an object whose fields rosbags can read."""
    return bytes(_store().serialize_cdr(wire_message, typename, little_endian=True))


def deserialize(data: bytes, typename: str) -> Any:
    """Deserialise CDR bytes with the factory of a type."""
    return _store().deserialize_cdr(data, typename)


@functools.cache
def _store() -> Any:
    store: Any = get_typestore(Stores.ROS2_JAZZY)
    for typename, (consts, field_descs) in store.fielddefs.items():
        if any("char" in str(desc) for _, desc in field_descs):
            # char is another name of uint8 in ROS 2 and hashes like it.
            store.fielddefs[typename] = (consts, [(n, _char_as_uint8(d)) for n, d in field_descs])
    return store


def _char_as_uint8(desc: FieldDesc) -> FieldDesc:
    if desc[0] in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        return (desc[0], (_char_as_uint8(desc[1][0]), desc[1][1]))
    return (desc[0], ("uint8", 0)) if desc[1] == ("char", 0) else desc


def _definition(typename: str) -> tuple[list[tuple[str, str, Any]], list[tuple[str, FieldDesc]]]:
    store = _store()
    if typename not in store.fielddefs:
        text = _definition_text(typename)
        store.register({typename: _parse(text, typename)})
        _defaults[typename] = _field_defaults(text)
    consts, field_descs = store.fielddefs[typename]
    return consts, field_descs


def _parse(text: str, typename: str) -> Any:
    package, _, name = typename.split("/")
    # Types named without a package are messages of the same package, also in a service.
    (definition,) = get_types_from_msg(text, f"{package}/msg/{name}").values()
    consts, field_descs = definition
    return consts, [(name, _char_as_uint8(desc)) for name, desc in field_descs]


def _definition_text(typename: str) -> str:
    package, kind, name = typename.split("/")
    if kind == "msg":
        path = _share_folders.get(package, Path()) / "msg" / f"{name}.msg"
        if package not in _share_folders or not os.path.isfile(path):
            raise KeyError(f"there is no message {typename}")
        return path.read_text(encoding="utf-8")
    service, _, suffix = name.rpartition("_")
    if package in _share_folders:
        path = _share_folders[package] / "srv" / f"{service}.srv"
        text = path.read_text(encoding="utf-8") if os.path.isfile(path) else None
    else:
        text = STANDARD_SERVICES.get(f"{package}/srv/{service}")
    if text is None:
        raise KeyError(f"there is no service {package}/srv/{service}")
    lines = text.splitlines()
    separator = lines.index("---")
    return "\n".join(lines[:separator] if suffix == "Request" else lines[separator + 1 :]) + "\n"


def _field_defaults(text: str) -> dict[str, Any]:
    """Read ``type name value`` lines, which rosbags parses but does not keep."""
    field_defaults = {}
    for line in text.splitlines():
        words = line.split("#")[0].split(None, 2)
        if len(words) == 3 and "=" not in words[1] and not words[2].startswith("="):
            value = {"true": "True", "false": "False"}.get(words[2].strip(), words[2].strip())
            is_float = words[0].startswith("float") and "[" not in words[0]
            field_defaults[words[1]] = float(value) if is_float else literal_eval(value)
    return field_defaults
