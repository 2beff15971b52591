# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bags as CSV, NPZ and JSON lines."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vms_ph_dynamics.errors import VmsPhError

from .fields import Columns

_ROWS = 20_000


def export(columns: Mapping[str, Columns], out: Path) -> list[Path]:
    """Write the numbers of topics, with ``time`` in s, to files.

    Args:
        columns: by topic.
        out: a ``.csv`` or ``.jsonl`` file for one topic, a ``.npz`` file, or a folder, which gets
            a CSV for each topic. Joint states give the columns that ``vms-ph audit`` reads.

    Raises:
        VmsPhError: a file of one topic is asked for several, or cannot be written.
    """
    try:
        if out.suffix == ".npz":
            arrays = {}
            for topic, c in columns.items():
                values = c.values
                arrays[f"{topic}.time"] = c.table.times * 1e-9
                arrays |= {f"{topic}.{name}": values[:, k] for k, name in enumerate(c.names)}
            np.savez_compressed(out, **arrays)
            return [out]
        if out.suffix in (".csv", ".jsonl"):
            if len(columns) != 1:
                raise VmsPhError(
                    f"{out.name} takes one topic; choose it with --topics, or give a folder or an "
                    f".npz file. There are {', '.join(columns)}"
                )
            (only,) = columns.values()
            return [_write(only, out)]
        out.mkdir(parents=True, exist_ok=True)
        return [
            _write(c, out / (topic.strip("/").replace("/", "__") + ".csv"))
            for topic, c in columns.items()
        ]
    except OSError as error:
        raise VmsPhError(f"{out} cannot be written: {error.strerror or error}") from None


def _write(columns: Columns, file: Path) -> Path:
    times = columns.table.times
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        if file.suffix == ".csv":
            writer.writerow(("time", *columns.names))
        for begin in range(0, len(times), _ROWS):
            rows = columns.table.rows(begin, begin + _ROWS).tolist()
            for time, row in zip(times[begin : begin + _ROWS].tolist(), rows, strict=True):
                # Digits of integer nanoseconds, which a float of seconds since 1970 has not.
                stamp = f"{time // 10**9}.{time % 10**9:09d}"
                if file.suffix == ".csv":
                    writer.writerow((stamp, *row))
                else:
                    line = dict(zip(columns.names, row, strict=True))
                    stream.write(json.dumps({"time": float(stamp), **line}) + "\n")
    return file
