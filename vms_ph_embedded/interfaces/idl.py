# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""DDS types of the interfaces, as Cyclone's Python classes that carry ready-made CDR bytes.

Each type has its true structure, so that other programs match by type name and by structure, but
its instances contain bytes: rosbags serialises several times faster than Cyclone's Python classes.
"""

from __future__ import annotations

import functools
from typing import Any

from cyclonedds.idl import IdlStruct, make_idl_struct
from cyclonedds.idl import types as idl_types
from rosbags.interfaces import Nodetype

from vms_ph_embedded.interfaces import store

types: Any = idl_types  # type checkers do not support this generic class

_BASIC_TYPES = {
    "bool": bool,
    "byte": types.byte,
    "float32": types.float32,
    "float64": types.float64,
    **{
        f"{u}int{bits}": getattr(types, f"{u}int{bits}")
        for u in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
# The header that rmw_cyclonedds adds to every request and reply.
_SERVICE_HEADER = {"guid": types.uint64, "seq": types.int64}


def dds_type_name(typename: str) -> str:
    """Return the DDS name of a type such as ``std_msgs/msg/Header``."""
    package, kind, name = typename.split("/")
    return f"{package}::{kind}::dds_::{name}_"


@functools.cache
def dds_type(typename: str) -> Any:
    """The DDS type of a message, or of a request or response with its header."""
    header = _SERVICE_HEADER if "/srv/" in typename else {}
    struct: Any = _idl_struct(typename, header)
    # A base class would show up as inheritance in the type that DDS announces.
    struct.__init__ = _init_with_bytes
    struct.serialize = _bytes
    struct.deserialize = classmethod(_from_cdr)
    struct.deserialize_key = classmethod(_from_cdr)  # of a sample without data
    return struct


def _init_with_bytes(self: Any, data: bytes) -> None:
    self.data = data


def _bytes(self: Any, buffer: Any = None, endianness: Any = None, use_version_2: Any = None) -> Any:
    return self.data


def _from_cdr(cls: Any, data: bytes, has_header: bool = True, use_version_2: Any = None) -> Any:
    return cls(data)


def _idl_struct(typename: str, header: dict[str, Any] | None = None) -> type[IdlStruct]:
    members = {name: _member(desc) for name, desc in store.fields(typename)}
    name = typename.split("/")[-1]
    return make_idl_struct(
        f"{name}_", dds_type_name(typename), {**(header or {}), **members}, dataclassify=False
    )


_nested_struct = functools.cache(_idl_struct)


def _member(desc: Any) -> Any:
    kind, detail = desc
    if kind == Nodetype.ARRAY:
        return types.array[_member(detail[0]), detail[1]]
    if kind == Nodetype.SEQUENCE:
        inner, limit = detail
        return types.sequence[_member(inner), limit] if limit else types.sequence[_member(inner)]
    if kind == Nodetype.NAME:
        return _nested_struct(detail)
    name, limit = detail
    if name == "string":
        return types.bounded_str[limit] if limit else str
    return _BASIC_TYPES[name]
