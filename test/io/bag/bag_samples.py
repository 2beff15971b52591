# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages and small bags for the tests of bags."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

from vms_ph_io.bag import BagMessage, BagReader, BagWriter, MessageTypes, QosProfile

SHARE = Path(__file__).resolve().parents[3]
START = 1_700_000_000_000_000_000

INTEGERS = {
    name: (np.iinfo(name).min, np.iinfo(name).max)
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
} | {"byte": (0, 127), "char": (0, 255), "octet": (0, 255)}
NUMPY = {"byte": "uint8", "char": "uint8", "octet": "uint8"}


@dataclass
class Sampler:
    """Makes messages of any type, filled with arbitrary content."""

    types: MessageTypes

    def serialised(self, type_name: str, seed: int = 0) -> bytes:
        message = self._message(type_name, random.Random(f"{type_name} {seed}"))
        return bytes(self.types.store.serialize_cdr(message, type_name))

    def _message(self, type_name: str, rng: random.Random) -> object:
        _, fields = self.types.store.fielddefs[type_name]
        values = {name: self._value(desc, rng) for name, desc in fields}
        return self.types.store.types[type_name](**values)

    def _value(self, description: Any, rng: random.Random) -> Any:
        kind, content = description
        if kind == Nodetype.BASE:
            return self._scalar(content, rng)
        if kind == Nodetype.NAME:
            return self._message(content, rng)
        item, count = content
        if kind == Nodetype.SEQUENCE:
            count = rng.randint(0, min(count, 3) if count else 3)
        values = [self._value(item, rng) for _ in range(count)]
        if item[0] == Nodetype.BASE and item[1][0] != "string":
            return np.array(values, dtype=NUMPY.get(item[1][0], item[1][0]))
        return values

    def _scalar(self, content: tuple[str, int], rng: random.Random) -> Any:
        name, limit = content
        if name == "bool":
            return rng.random() < 0.5
        if name == "string":
            length = rng.randint(0, min(limit, 8) if limit else 8)
            return "".join(rng.choice("abc é✓") for _ in range(length))[: limit or None]
        if name in INTEGERS:
            return rng.randint(*INTEGERS[name])
        return float(np.float32(rng.uniform(-1e3, 1e3)))


TOPICS = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/vms_ph/energy": "vms_ph/msg/Energy",
}


def record(
    folder: Path,
    sampler: Sampler,
    count: int = 30,
    flush_every: int = 4,
    close: bool = True,
    **options: Any,
) -> list[BagMessage]:
    """Write a small bag of three topics; return the written messages."""
    writer = BagWriter(folder, ros_distro="", flush_period=3600, **options)
    for name, type_name in TOPICS.items():
        writer.add_topic(name, sampler.types.definition(type_name), [QosProfile(depth=7)])
    written = []
    for number in range(count):
        name = list(TOPICS)[number % len(TOPICS)]
        data = sampler.serialised(TOPICS[name], number)
        time = START + number * 10_000_000
        writer.write(name, data, time + 5, time, sequence=number)
        written.append(BagMessage(name, TOPICS[name], time + 5, time, data, number))
        if number % flush_every == flush_every - 1:
            writer.flush()
    writer.flush()
    if close:
        writer.close()
    else:
        abandon(writer)
    return written


def abandon(writer: BagWriter) -> None:
    """Leave a bag in the state after a killed process: the kernel closes its file."""
    os.close(writer._stream._descriptor)


def read(path: Path, topics: Sequence[str] | None = None) -> list[BagMessage]:
    return list(BagReader(path).messages(topics))
