# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The journal of a sweep: a file to which records are appended durably."""

import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import IO, Any

from vms_ph_dynamics import VmsPhError
from vms_ph_io.settings.bounded_text import writing

from .evaluation import Record

JOURNAL_FILE = "points.jsonl"
_FORMAT = "vms-ph sweep 1"


class Journal:
    """The records in a folder; one process at a time may have them open.

    The file has one JSON document a line: a header, then one record for each point. An appended
    record is on the disk when :meth:`append` returns. A line that was cut short, by a kill or by a
    full disk, is removed when the journal is opened again.

    Attributes:
        records: the last record of each point by its id.
        target_name: name of the target that the records are of.
        digest: hash of its code when the journal was begun.
    """

    def __init__(self, folder: Path, target_name: str, digest: str) -> None:
        """Open the journal in a folder, or begin one.

        Raises:
            VmsPhError: the folder cannot be written, another process has the journal open, or the
                file is no journal.
        """
        self._path = folder / JOURNAL_FILE
        with writing(self._path):
            folder.mkdir(parents=True, exist_ok=True)
            # What a full disk did not take must not be written when the file is closed.
            self._file = self._path.open("a+b", buffering=0)
        _lock(self._file, folder)
        self.records: dict[str, Record] = {}
        try:
            lines = self._complete_lines()
            if not lines:
                self._write([{"format": _FORMAT, "target": target_name, "digest": digest}])
                # The name of a new file is durable once its folder is.
                _sync_folder(folder)
                lines = self._complete_lines()
            self._read_records(lines)
        except BaseException:
            self._file.close()
            raise

    def append(self, records: Sequence[Record]) -> None:
        """Append records; they are durable when this returns.

        Raises:
            VmsPhError: the file cannot be written, for instance because the disk is full.
        """
        self._write([asdict(record) for record in records])
        self.records.update((record.point, record) for record in records)

    def close(self) -> None:
        """Close the file, so that another process may open it."""
        self._file.close()

    def _write(self, documents: Sequence[dict[str, Any]]) -> None:
        lines = [json.dumps(document, ensure_ascii=False) for document in documents]
        unwritten = memoryview("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
        with writing(self._path):
            while unwritten:
                unwritten = unwritten[self._file.write(unwritten) :]
            os.fsync(self._file.fileno())

    def _complete_lines(self) -> list[bytes]:
        self._file.seek(0)
        content = self._file.read()
        complete_size = content.rfind(b"\n") + 1
        if complete_size < len(content):
            self._file.truncate(complete_size)
        return content[:complete_size].splitlines()

    def _read_records(self, lines: list[bytes]) -> None:
        line_number = 1
        try:
            header = json.loads(lines[0])
            if header["format"] != _FORMAT:
                raise ValueError(f"its format is {header['format']}")
            self.target_name, self.digest = str(header["target"]), str(header["digest"])
            for line in lines[1:]:
                line_number += 1
                record = Record(**json.loads(line))
                self.records[record.point] = record
        except (KeyError, TypeError, ValueError) as error:
            raise VmsPhError(
                f"{self._path}, line {line_number}, is not of a journal of a sweep ({error}); "
                "choose another folder with --out, or begin anew with --restart"
            ) from None


def archive_journal(folder: Path) -> None:
    """Rename the journal in a folder, if there is one, so that a new one begins.

    Raises:
        VmsPhError: another process has it open.
    """
    path = folder / JOURNAL_FILE
    if not path.is_file():
        return
    with path.open("a+b") as file:
        _lock(file, folder)
        number = next(k for k in count(1) if not (folder / f"points.{k}.jsonl").exists())
        path.rename(folder / f"points.{number}.jsonl")


def _lock(file: IO[bytes], folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise VmsPhError(
            f"another process computes the sweep in {folder}; wait for it, or choose another "
            "folder with --out"
        ) from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
