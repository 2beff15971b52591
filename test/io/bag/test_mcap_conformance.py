# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The public conformance suite of MCAP: every file is read as its answer says.

``data/mcap_conformance.tar.xz`` has the 416 files of tests/conformance of
https://github.com/foxglove/mcap (MIT licence, in the archive) with their answers and the sha256
sums under which that repository stores them.
"""

import hashlib
import json
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from mcap.records import Channel, Message

from vms_ph_io.bag.mcap_reader import McapReader

ARCHIVE = Path(__file__).parent / "data" / "mcap_conformance.tar.xz"
# What only serves indexed reading, or is no message, is not read.
_SKIPPED = ("Header", "MessageIndex", "ChunkIndex", "Metadata", "Attachment")


@pytest.fixture(scope="module")
def suite() -> dict[str, bytes]:
    with tarfile.open(ARCHIVE) as archive:
        return {
            member.name.removeprefix("./"): archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive.getmembers()
            if member.isfile()
        }


def test_the_files_are_those_of_the_suite(suite: dict[str, bytes]) -> None:
    sums = [line.split() for line in suite["sha256sums"].decode().splitlines()]
    assert len(sums) == 416
    for digest, name in sums:
        assert hashlib.sha256(suite[name.removeprefix("./")]).hexdigest() == digest


def expected(answer: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The records before the summary, which repeats some of them."""
    found = []
    for record in answer["records"]:
        if record["type"] == "DataEnd":
            break
        found.append((record["type"], dict(record["fields"])))
    return found


def read(data: bytes) -> tuple[McapReader, list[tuple[str, dict[str, Any]]]]:
    reader = McapReader(BytesIO(data), len(data), "suite")
    found: list[tuple[str, dict[str, Any]]] = []
    schemas: set[int] = set()
    for record in reader.records():
        for number, schema in reader.schemas.items():
            if number not in schemas:
                schemas.add(number)
                found.append(
                    ("Schema", {"id": str(number), "name": schema.name,
                                "encoding": schema.encoding, "data": _bytes(schema.data)})
                )  # fmt: skip
        if isinstance(record, Channel):
            found.append(
                ("Channel", {"id": str(record.id), "topic": record.topic,
                             "message_encoding": record.message_encoding,
                             "metadata": record.metadata, "schema_id": str(record.schema_id)})
            )  # fmt: skip
        elif isinstance(record, Message):
            found.append(
                ("Message", {"channel_id": str(record.channel_id), "sequence": str(record.sequence),
                             "log_time": str(record.log_time),
                             "publish_time": str(record.publish_time), "data": _bytes(record.data)})
            )  # fmt: skip
    return reader, found


def test_every_file_is_read_as_its_answer_says(suite: dict[str, bytes]) -> None:
    names = [name for name in suite if name.endswith(".mcap")]
    assert len(names) == 416
    for name in names:
        answer = expected(json.loads(suite[name.replace(".mcap", ".json")]))
        reader, found = read(suite[name])
        assert reader.is_complete, name
        assert reader.unreadable_bytes == 0, name
        assert found == [item for item in answer if item[0] not in _SKIPPED], name


def _bytes(data: bytes) -> list[str]:
    return [str(value) for value in data]
