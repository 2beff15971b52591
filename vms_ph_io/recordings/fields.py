# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The numbers in messages of any type: columns with names, and their files."""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import VmsPhError

from ..settings.bounded_text import writing
from .messages import Messages, decode
from .recording import Table

MAX_ARRAY_LENGTH = 64
"""Items of an array that become columns; of longer ones, such as images, none do."""


def numbers_of(message: Any) -> dict[str, float]:
    """Return the numbers of a message by the path of their fields.

    Items of arrays that stand beside as many names are called by these, as in a joint state;
    others by their numbers, as in ``data[0]``.
    """
    numbers: dict[str, float] = {}
    _collect_numbers(message, "", numbers)
    return numbers


def stamp_of(message: Any, log_time: int) -> int:
    """Return the stamp of a message in ns, or the log time of one without a stamp."""
    stamp = getattr(getattr(message, "header", None), "stamp", None)
    if stamp is None:
        return log_time
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec) or log_time


def read_fields(path: Path, topics: Sequence[str] = ()) -> tuple[dict[str, Table], list[str]]:
    """Return the numbers of some topics of a bag, or of all, and what was damaged or left out.

    The columns of a topic are called by the path of their fields, such as ``position.joint1`` or
    ``twist.linear.x``.

    Raises:
        RecordingError: there is no bag.
    """
    messages = Messages(path)
    tables: dict[str, Table] = {}
    omission_counts = Counter[str]()
    for message in messages.on_topics(set(topics) if topics else None):
        content, table = decode(message), tables.get(message.topic)
        numbers = {} if content is None else numbers_of(content)
        if table is None and numbers:
            table = tables[message.topic] = Table(tuple(numbers))
        if table is not None and tuple(numbers) == table.columns:
            table.append(stamp_of(content, message.log_time), list(numbers.values()))
            continue
        reason = "the bytes do not fit the definition" if content is None else "no numbers in it"
        if table is not None and numbers:
            other_names = ", ".join(sorted({*numbers} ^ {*table.columns})[:3]) or "their order"
            reason = f"other columns than in the first message, such as {other_names}"
        omission_counts[f"{message.topic} ({message.type}) left out: {reason}"] += 1
    notes = [f"{n} message{'s' * (n > 1)} of {text}" for text, n in omission_counts.items()]
    return tables, [*messages.notes, *notes]


def _collect_numbers(message: Any, path: str, numbers: dict[str, float]) -> None:
    fields = getattr(message, "__dataclass_fields__", None)
    if fields is None:
        return
    names = getattr(message, "name", None)
    for name in fields:
        if name in ("header", "__msgtype__") or name.isupper():
            continue
        for key, value in _numbered_items(name, getattr(message, name), names):
            if isinstance(value, (bool, int, float, np.number)):
                numbers[path + key] = float(value)
            else:
                _collect_numbers(value, f"{path}{key}.", numbers)


def _numbered_items(name: str, value: Any, names: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, (list, tuple, np.ndarray)):
        if not isinstance(value, (str, bytes)):
            yield name, value
        return
    if len(value) > MAX_ARRAY_LENGTH or not len(value) or isinstance(value[0], str):
        return
    has_names = isinstance(names, (list, tuple)) and len(names) == len(value)
    for k, element in enumerate(value):
        yield (f"{name}.{names[k]}" if has_names else f"{name}[{k}]"), element


_CHUNK_ROWS = 20_000


def export(tables: Mapping[str, Table], out: Path) -> list[Path]:
    """Write the numbers of topics, with ``time`` in s, to files.

    Args:
        tables: by topic.
        out: a ``.csv`` file for one topic, a ``.npz`` file, or a folder, which gets
            a CSV for each topic. Joint states give the columns that ``vms-ph audit`` reads.

    Raises:
        VmsPhError: a file of one topic is asked for several, or cannot be written.
    """
    with writing(out):
        if out.suffix == ".npz":
            arrays = {}
            for topic, table in tables.items():
                columns = table.rows(0, len(table)).T
                arrays[f"{topic}.time"] = table.times * 1e-9
                names = (f"{topic}.{name}" for name in table.columns)
                arrays |= zip(names, columns, strict=True)
            np.savez_compressed(out, **arrays)
            return [out]
        if out.suffix == ".csv":
            if len(tables) != 1:
                raise VmsPhError(
                    f"{out.name} takes one topic; choose it with --topics, or give a folder or an "
                    f".npz file. There are {', '.join(tables)}"
                )
            return [_write_csv(table, out) for table in tables.values()]
        out.mkdir(parents=True, exist_ok=True)
        return [
            _write_csv(table, out / (topic.strip("/").replace("/", "__") + ".csv"))
            for topic, table in tables.items()
        ]


def _write_csv(table: Table, file: Path) -> Path:
    times = table.times
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("time", *table.columns))
        for begin in range(0, len(times), _CHUNK_ROWS):
            rows = table.rows(begin, begin + _CHUNK_ROWS).tolist()
            for time, row in zip(times[begin : begin + _CHUNK_ROWS].tolist(), rows, strict=True):
                # Digits of integer nanoseconds, which a float of seconds since 1970 has not.
                writer.writerow((f"{time // 10**9}.{time % 10**9:09d}", *row))
    return file
