# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The numbers in messages of any type, as columns with names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from .messages import Messages, decoded
from .table import Table

MOST_ITEMS = 64
"""Items of an array that become columns; of longer ones, such as images, none do."""


@dataclass(frozen=True)
class Columns:
    """The numbers of the messages of one topic.

    Attributes:
        topic: its name.
        type: its type.
        names: of the columns, such as ``position.joint1`` or ``twist.linear.x``.
        table: times (ns) and values, NaN where a message lacks a number.
        others: messages with other columns, which are left out.
    """

    topic: str
    type: str
    names: tuple[str, ...]
    table: Table
    others: int = 0

    @property
    def values(self) -> Array:
        """All values, (N, columns)."""
        return self.table.rows(0, len(self.table))


def numbers_of(message: Any) -> dict[str, float]:
    """Return the numbers of a message by the path of their fields.

    Items of arrays that stand beside as many names are called by these, as in a joint state;
    others by their numbers, as in ``data[0]``.
    """
    numbers: dict[str, float] = {}
    _collect(message, "", numbers)
    return numbers


def stamp_of(message: Any, log_time: int) -> int:
    """Return the stamp of a message in ns, or the log time of one without a stamp."""
    stamp = getattr(getattr(message, "header", None), "stamp", None)
    if stamp is None:
        return log_time
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec) or log_time


def read_fields(path: Path, topics: Sequence[str] = ()) -> tuple[dict[str, Columns], list[str]]:
    """Return the columns of some topics of a bag, or of all, and what was damaged.

    Raises:
        RecordingError: there is no bag.
    """
    messages = Messages(path)
    columns_by_topic: dict[str, Columns] = {}
    others: dict[str, int] = {}
    for message in messages.of(set(topics) if topics else None):
        content = decoded(message)
        if content is None:
            others[message.topic] = others.get(message.topic, 0) + 1
            continue
        numbers = numbers_of(content)
        columns = columns_by_topic.get(message.topic)
        if columns is None:
            if not numbers:
                continue
            names = tuple(numbers)
            columns = Columns(message.topic, message.type, names, Table(names))
            columns_by_topic[message.topic] = columns
        if tuple(numbers) != columns.names:
            others[message.topic] = others.get(message.topic, 0) + 1
            continue
        columns.table.append(stamp_of(content, message.log_time), list(numbers.values()))
    complete = {
        topic: Columns(topic, c.type, c.names, c.table, others.get(topic, 0))
        for topic, c in columns_by_topic.items()
    }
    return complete, messages.notes


def _collect(message: Any, path: str, numbers: dict[str, float]) -> None:
    fields = getattr(message, "__dataclass_fields__", None)
    if fields is None:
        return
    names = getattr(message, "name", None)
    for name in fields:
        if name in ("header", "__msgtype__") or name.isupper():
            continue
        for key, value in _items(name, getattr(message, name), names):
            if isinstance(value, (bool, int, float, np.number)):
                numbers[path + key] = float(value)
            else:
                _collect(value, f"{path}{key}.", numbers)


def _items(name: str, value: Any, names: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, (list, tuple, np.ndarray)):
        if not isinstance(value, (str, bytes)):
            yield name, value
        return
    if len(value) > MOST_ITEMS or not len(value) or isinstance(value[0], str):
        return
    called = isinstance(names, (list, tuple)) and len(names) == len(value)
    for k, item in enumerate(value):
        yield (f"{name}.{names[k]}" if called else f"{name}[{k}]"), item
