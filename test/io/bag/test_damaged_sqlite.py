# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A damaged SQLite bag, or one with a malicious definition, is refused in one sentence."""

import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from vms_ph_io.bag import BagError, BagReader, bag_info
from vms_ph_io.bag.messages import MessageDefinition, SchemaDecoder


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    store = get_typestore(Stores.ROS2_JAZZY)
    text = store.types["std_msgs/msg/String"]
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection("/a", "std_msgs/msg/String", typestore=store)
        for i in range(500):
            data = store.serialize_cdr(text(data=f"a{i}" * 20), "std_msgs/msg/String")
            writer.write(connection, 1000 + i, data)
    return next((tmp_path / "bag").glob("*.db3"))


def _change(bag: Path, statement: str) -> None:
    with sqlite3.connect(bag) as connection:
        connection.execute(statement)
    connection.close()


def _overwrite(bag: Path) -> None:
    content = bytearray(bag.read_bytes())
    content[len(content) // 2 :] = b"\xff" * (len(content) - len(content) // 2)
    bag.write_bytes(bytes(content))


DAMAGES: dict[str, Callable[[Path], None]] = {
    # bytes(10**11) would be memory of that size
    "a number for a message": lambda b: _change(b, "UPDATE messages SET data = 100000000000"),
    "a text for a time": lambda b: _change(b, "UPDATE messages SET timestamp = 'x'"),
    "bytes for a topic": lambda b: _change(b, "UPDATE topics SET name = x'ff'"),
    "bytes for a type": lambda b: _change(b, "UPDATE topics SET type = x'ff'"),
    "a text that is no UTF-8": lambda b: _change(b, "UPDATE topics SET name = CAST(x'ff' AS TEXT)"),
    "an unknown encoding": lambda b: _change(
        b, "UPDATE message_definitions SET encoding = 'ros0msg'"
    ),
    "overwritten pages": _overwrite,
    "a truncated file": lambda b: b.write_bytes(b.read_bytes()[: b.stat().st_size // 2]) and None,
    "no tables": lambda b: _change(b, "DROP TABLE messages"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_refused(damage: Callable[[Path], None], bag: Path) -> None:
    damage(bag)
    with pytest.raises(BagError, match="cannot read"):
        bag_info(bag)
    with pytest.raises(BagError, match="cannot read"):
        list(BagReader(bag).messages())


DEFINITIONS = {
    "a constant that is not finite": "float64 A=1e999\n",
    "a number of too many digits": f"uint8 A={'1' * 5000}\n",
    "a type that contains itself": "Evil inner\n",
    "messages of no bytes": "Empty[] x\n" + "=" * 80 + "\nMSG: a/Empty\nuint8[0] x\n",
    "an array of a billion texts": "string[1000000000] x\n",
    "a text that is too long": "#" * 300_000,
}


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
def test_a_definition_that_cannot_be_used_is_refused(definition: str) -> None:
    message = b"\0\1\0\0" + struct.pack("<I", 2**32 - 1) + bytes(64)
    with pytest.raises(BagError, match=r"a/msg/Evil|of a/"):
        SchemaDecoder(MessageDefinition("a/msg/Evil", definition))(message)
