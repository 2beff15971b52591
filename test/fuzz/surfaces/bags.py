# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bags as files (MCAP and SQLite), their messages, and the definitions of types inside them."""

# ruff: noqa: E501  inputs as they are

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from fuzz.surface import Surface
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from vms_ph_dynamics import VmsPhError
from vms_ph_io.audits.run_record import read_run
from vms_ph_io.bag import (
    BagError,
    BagReader,
    BagWriter,
    MessageTypes,
    PresentNames,
    bag_info,
    recover,
)
from vms_ph_io.bag.messages import MessageDefinition, SchemaDecoder

_MOST_MESSAGES = 100_000


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="vms_ph_fuzz_"))


def _read(path: Path) -> None:
    """As info, play, plot and recover read a bag."""
    bag_info(path)
    names = PresentNames()
    for count, message in enumerate(BagReader(path).messages()):
        assert count < _MOST_MESSAGES
        try:
            names.translate(message)
            message.decode()
        except BagError:
            continue
    with suppress(VmsPhError):  # for instance of the topics that are wanted
        read_run(path)


def _fresh(name: str) -> Path:
    folder = _folder() / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _mcap(data: bytes) -> None:
    folder = _fresh("mcap")
    (folder / "bag_0.mcap").write_bytes(data)
    _read(folder)
    if len(data) % 8:  # a repaired bag is written to disk and synchronised, which is slow
        return
    repaired = recover(folder, _folder() / "mcap" / "repaired")
    found = bag_info(repaired.path)
    assert found.is_complete
    assert not found.unreadable_bytes
    assert found.message_count == repaired.message_count


def _db3(data: bytes) -> None:
    folder = _fresh("db3")
    (folder / "bag_0.db3").write_bytes(data)
    _read(folder)


def _mcap_seeds() -> list[bytes]:
    return list(_mcaps())


def _mcaps() -> Iterator[bytes]:
    store = get_typestore(Stores.ROS2_JAZZY)
    text = store.types["std_msgs/msg/String"]
    for compression in ("none", "zstd", "lz4"):
        folder = _folder() / f"seed_{compression}"
        with BagWriter(folder, compression=compression) as bag:
            bag.add_topic("/a", MessageTypes().definition("std_msgs/msg/String"))
            for i in range(8):
                payload = bytes(store.serialize_cdr(text(data=f"a{i}"), "std_msgs/msg/String"))
                bag.write("/a", payload, 1000 + i)
        yield next(folder.glob("*.mcap")).read_bytes()


def _db3_seeds() -> list[bytes]:
    store = get_typestore(Stores.ROS2_JAZZY)
    text = store.types["std_msgs/msg/String"]
    folder = _folder() / "seed_db3"
    with Writer(folder, version=9, storage_plugin=StoragePlugin.SQLITE3) as bag:
        connection = bag.add_connection("/a", "std_msgs/msg/String", typestore=store)
        for i in range(8):
            payload = store.serialize_cdr(text(data=f"a{i}"), "std_msgs/msg/String")
            bag.write(connection, 1000 + i, payload)
    return [next(folder.glob("*.db3")).read_bytes()]


_DEFINITION = """# text
std_msgs/Header header
float64[] values
float64[3] three
string<=5 name "abc"
Other[<=2] others
uint8 A=1
string B='x'
================================================================================
MSG: fuzz/Other
int32 x 5
builtin_interfaces/Time[2] stamps
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""

_IDL = """================================================================================
IDL: fuzz/msg/Fuzz
module fuzz {
  module msg {
    typedef long long__2[2];
    module Fuzz_Constants {
      const long A = 1;
    };
    struct Fuzz {
      @default (value=1.0)
      double x;
      sequence<double, 3> y;
      long__2 z;
      fuzz::msg::Other o;
      string<5> s;
    };
  };
};
================================================================================
IDL: fuzz/msg/Other
module fuzz {
  module msg {
    struct Other {
      long x;
    };
  };
};
"""


def _definitions(data: bytes) -> None:
    """A message and its definition: number of bytes, the message, the encoding, the text."""
    if not data:
        return
    payload, rest = data[1 : 1 + data[0]], data[1 + data[0] :]
    encoding, text = (
        ("ros2idl" if rest[:1] == b"2" else "ros2msg"),
        rest[1:].decode(errors="replace"),
    )
    SchemaDecoder(MessageDefinition("fuzz/msg/Fuzz", text, encoding=encoding))(payload)


def _definition_seeds() -> list[bytes]:
    header = b"\0\1\0\0"
    message = header + struct.pack("<IIIB3xI4x3dIB3xI", 1, 2, 1, 0, 0, 1.0, 2.0, 3.0, 1, 0, 0)
    idl = header + struct.pack("<dI2iiIB", 1.0, 0, 4, 5, 6, 1, 0)
    return [
        bytes([len(payload)]) + payload + b"12"[encoding : encoding + 1] + text.encode()
        for encoding, payload, text in ((0, message, _DEFINITION), (1, idl, _IDL))
    ]


_DEFINITION_WORDS = (
    b"float64[1000000000] x\n", b"Fuzz x\n", b"fuzz/Fuzz[] x\n", b"fuzz/Other[999999999] x\n",
    b"string<=99999999999 x\n", b"string[1000000] x\n", b"wstring x\n", b"duration x\n", b"time x\n",
    b"uint8 class\n", b"uint8 x=\n", b"float64 X=nan\n", b"MSG: \n", b"IDL: \n", b"=" * 80 + b"\n",
    b"@key ", b"sequence<sequence<double>>", b"(" * 500, b"module ", b"enum E { A };", b"union",
    b"Empty[] x\n", b"MSG: fuzz/Empty\n", b"uint8 __class__\n", b"uint8 __init__\n", b"uint8 None\n",
)  # fmt: skip

MCAP = Surface("mcap", _mcap, _mcap_seeds, seconds=10.0, short=12, long=12_000)
DB3 = Surface("db3", _db3, _db3_seeds, seconds=10.0, short=20, long=12_000)
DEFINITIONS = Surface(
    "definitions", _definitions, _definition_seeds, _DEFINITION_WORDS, text=True,
    refusals=(BagError,), seconds=10.0, short=10, long=6_000,
)  # fmt: skip
