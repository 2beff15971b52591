# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""CDR payloads of every message and service that the nodes and the runtime read."""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any

import numpy as np
from fuzz.surface import Surface

from vms_ph_embedded.interfaces import store
from vms_ph_embedded.interfaces.fields import ListField, NumericSequenceField
from vms_ph_embedded.interfaces.messages import (
    DecodingError,
    deserialize,
    message_class,
    serialize,
    service_class,
)
from vms_ph_embedded.interfaces.standard_services import STANDARD_SERVICES
from vms_ph_embedded.wire import service_header

PACKAGES = (
    "builtin_interfaces", "std_msgs", "geometry_msgs", "sensor_msgs", "nav_msgs", "tf2_msgs",
    "diagnostic_msgs", "rcl_interfaces", "rosgraph_msgs", "visualization_msgs", "trajectory_msgs",
    "rmw_dds_common", "lifecycle_msgs", "vms_ph",
)  # fmt: skip


@cache
def types() -> tuple[Any, ...]:
    """Return every message class of those packages, requests and responses included."""
    found = [
        message_class(f"{package}/msg/{name}")
        for package in PACKAGES
        for name in store.interface_names(package, "msg")
    ]
    services = [f"vms_ph/srv/{name}" for name in store.interface_names("vms_ph", "srv")]
    for name in (*services, *STANDARD_SERVICES):
        service = service_class(name)
        found += [service.Request, service.Response]
    return tuple(found)


def filled(rng: random.Random, kind: Any, depth: int = 3) -> Any:
    """Return a message with random content, sequences of a few elements."""
    message = kind()
    for field in kind.__fields__:
        value = getattr(message, field.name)
        if hasattr(value, "__fields__"):
            setattr(message, field.name, filled(rng, type(value), depth - 1))
        elif isinstance(field, NumericSequenceField):
            values = [_scalar(rng, field.element.python_type) for _ in range(rng.randrange(4))]
            setattr(message, field.name, values)
        elif isinstance(field, ListField) and not field.is_array and depth > 0:
            make = field.element.python_type
            nested = hasattr(make, "__fields__")
            setattr(
                message,
                field.name,
                [
                    filled(rng, make, depth - 1) if nested else _scalar(rng, make)
                    for _ in range(rng.randrange(field.length or 2) + 1)
                ],
            )
        elif isinstance(value, (str, float)):
            setattr(message, field.name, _scalar(rng, type(value)))
    return message


def _scalar(rng: random.Random, kind: type) -> Any:
    if kind is str:
        return rng.choice(("", "panda_joint1", "\N{DEGREE SIGN}C", "x" * 40))
    if kind is float:
        return rng.choice((0.0, 1.0, -1.5, math.nan, math.inf, 1e30))
    return b"\1" if kind is bytes else kind(rng.randrange(2))


def _seeds() -> list[bytes]:
    """The number of the type in four bytes, then the payload."""
    rng = random.Random(15)
    return [
        number.to_bytes(4, "little") + serialize(filled(rng, kind))
        for number, kind in enumerate(types())
        for _ in range(3)
    ]


def _attempt(data: bytes) -> None:
    kinds = types()
    kind, payload = kinds[int.from_bytes(data[:4], "little") % len(kinds)], data[4:]
    message = deserialize(payload, kind)
    again = serialize(message)
    # What was accepted is a message: it can be sent, and is then the same.
    assert serialize(deserialize(again, kind)) == again
    assert len(again) <= 8 * len(payload) + 64
    for field in kind.__fields__:
        value = getattr(message, field.name)
        if not isinstance(value, float):  # rosidl refuses the largest float32 by a rounding error
            field.to_stored(value)
    _same_memory(message, len(payload))


def _same_memory(message: Any, size: int) -> None:
    """No field is larger than what was received."""
    for field in message.__fields__:
        value = getattr(message, field.name)
        if isinstance(field, NumericSequenceField):
            assert len(value) * value.itemsize <= size
        elif isinstance(value, np.ndarray):
            assert value.size == field.length


def _request(data: bytes) -> None:
    """A request as it arrives: with the identity of its client."""
    kinds = types()
    kind = kinds[int.from_bytes(data[:4], "little") % len(kinds)]
    payload, _, _ = service_header.split(data[4:])
    deserialize(payload, kind)


def _request_seeds() -> list[bytes]:
    rng = random.Random(16)
    return [
        number.to_bytes(4, "little") + service_header.add(serialize(filled(rng, kind)), 7, 1)
        for number, kind in enumerate(types())
        if kind.__name__.endswith(("_Request", "_Response"))
    ]


CDR = Surface(
    "cdr", _attempt, _seeds, refusals=(DecodingError,), seconds=1.0, short=2000, long=200_000
)
REQUESTS = Surface(
    "requests", _request, _request_seeds, refusals=(DecodingError,), seconds=1.0, short=500,
    long=350_000,
)  # fmt: skip
