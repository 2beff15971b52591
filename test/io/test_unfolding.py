# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A small file that unfolds to a large one is refused, and fills neither memory nor disk."""

import sqlite3
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
import zstandard
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Ros2Writer
from rosbags.typesys import Stores, get_typestore

from vms_ph_io.recordings import RecordingError, read_recording
from vms_ph_io.settings import bounded_files
from vms_ph_io.settings.bounded_files import (
    ALWAYS_ACCEPTED,
    DecompressionError,
    decompress,
    max_decompressed,
)

LARGE = b"\0" * (6 * 2**20)
IMAGE = "std_msgs/msg/ByteMultiArray"


def _ros1(folder: Path) -> Path:
    store = get_typestore(Stores.ROS1_NOETIC)
    path = folder / "a.bag"
    writer = Ros1Writer(path)
    writer.set_compression(Ros1Writer.CompressionFormat.BZ2)
    with writer:
        connection = writer.add_connection("/x", IMAGE, typestore=store)
        writer.write(connection, 1, LARGE)
    return path


def _db3(folder: Path, data: bytes) -> Path:
    store = get_typestore(Stores.ROS2_JAZZY)
    path = folder / "a"
    with Ros2Writer(path, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connection = writer.add_connection("/x", IMAGE, typestore=store)
        writer.write(connection, 1, data)
    return path


def _by_message(folder: Path) -> Path:
    path = _db3(folder, zstandard.compress(LARGE))
    metadata = yaml.safe_load((path / "metadata.yaml").read_text())
    about = metadata["rosbag2_bagfile_information"]
    about |= {"compression_format": "zstd", "compression_mode": "MESSAGE"}
    (path / "metadata.yaml").write_text(yaml.safe_dump(metadata))
    return path


def _by_file(folder: Path) -> Path:
    path = folder / "a.db3.zstd"
    path.write_bytes(zstandard.compress(LARGE))
    return path


def _npz(folder: Path) -> Path:
    np.savez_compressed(folder / "a.npz", position=np.zeros(2**20))
    return folder / "a.npz"


def _npz_of_nothing(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "a.npz", "w") as archive, archive.open("q.npy", "w") as file:
        header = {"descr": "|V0", "fortran_order": False, "shape": (2**50,)}
        np.lib.format.write_array_header_1_0(file, header)
    return folder / "a.npz"


def _mat_file(path: Path, dims: tuple[int, int], kind: int, data: bytes, times: int = 1) -> Path:
    def element(kind: int, content: bytes) -> bytes:
        return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)

    flags, name = struct.pack("<II", kind, 0), element(1, b"position")
    body = element(6, flags) + element(5, struct.pack("<ii", *dims)) + name + data
    matrix = element(14, body)
    for _ in range(times):
        packed = zlib.compress(matrix)
        matrix = struct.pack("<II", 15, len(packed)) + packed
    path.write_bytes(b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + matrix)
    return path


def _mat(folder: Path) -> Path:
    return _mat_file(folder / "a.mat", (1, 1), 6, struct.pack("<II", 9, len(LARGE)) + LARGE)


def _mat_twice(folder: Path) -> Path:
    zeros = struct.pack("<II", 9, len(LARGE)) + LARGE
    return _mat_file(folder / "a.mat", (1, 1), 6, zeros, times=2)


def _mat_of_spaces(folder: Path) -> Path:
    return _mat_file(folder / "a.mat", (2**30, 1), 4, struct.pack("<II", 4, 0))


def _mat_of_cells(folder: Path) -> Path:
    return _mat_file(folder / "a.mat", (2**29, 1), 1, b"")


def _struct(fields: bytes, dims: tuple[int, int] = (1, 1)) -> bytes:
    """Return a struct with one field, as an element of a MAT file."""
    head = struct.pack("<IIII", 6, 8, 2, 0) + struct.pack("<IIii", 5, 8, *dims)
    head += struct.pack("<II8s", 1, 3, b"log") + struct.pack("<HHI", 5, 4, 8)
    body = head + struct.pack("<II8s", 1, 8, b"a") + fields
    return struct.pack("<II", 14, len(body)) + body


def _mat_of(folder: Path, matrix: bytes) -> Path:
    packed = zlib.compress(matrix)
    content = (
        b"MATLAB 5.0".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed
    )
    (folder / "a.mat").write_bytes(content)
    return folder / "a.mat"


def _mat_of_structs(folder: Path) -> Path:
    return _mat_of(folder, _struct(b"", (2**15, 2**15)))


def _mat_of_a_struct_of_spaces(folder: Path) -> Path:
    text = struct.pack("<IIIIIIii", 6, 8, 4, 0, 5, 8, 2**28, 1) + struct.pack("<IIII", 1, 0, 4, 0)
    return _mat_of(folder, _struct(struct.pack("<II", 14, len(text)) + text))


def _mat_of_nested_structs(folder: Path) -> Path:
    matrix = b""
    for _ in range(100):
        matrix = _struct(matrix)
    return _mat_of(folder, matrix)


MAKERS = [
    (_mat_of_structs, "save it with -v6"), (_mat_of_a_struct_of_spaces, "save it with -v6"),
    (_mat_of_nested_structs, "nested more than 32 deep"),
    (_ros1, "unfold to more than"), (_by_message, "unfold to more than"),
    (_by_file, "unpack it with zstd -d"), (_npz, r"save it with numpy\.savez"),
    (_npz_of_nothing, "split it"), (_mat, "unfold to more than"), (_mat_twice, "twice"),
    (_mat_of_spaces, "save it with -v6"), (_mat_of_cells, "columns time"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "told"), MAKERS)
def test_a_small_file_that_unfolds_to_a_large_one_is_refused(
    make: Callable[[Path], Path], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_files, "ALWAYS_ACCEPTED", 2**20)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pytest.importorskip("scipy")
    path = make(tmp_path)
    with pytest.raises(RecordingError, match=told):
        read_recording(path)
    assert sum(file.stat().st_size for file in tmp_path.rglob("*")) < len(LARGE)


def test_an_sqlite_file_whose_messages_are_generated_is_refused(tmp_path: Path) -> None:
    bag = _db3(tmp_path, b"x")
    (file,) = bag.glob("*.db3")
    with sqlite3.connect(file) as database:
        database.executescript(
            "ALTER TABLE messages RENAME TO old; CREATE TABLE messages(id, topic_id, timestamp, "
            "data BLOB GENERATED ALWAYS AS (zeroblob(900000000))); "
            "INSERT INTO messages SELECT id, topic_id, timestamp FROM old"
        )
    with pytest.raises(RecordingError, match="column data is generated"):
        read_recording(bag)


@pytest.mark.parametrize("compression", ["zstd", "lz4", "bz2", "zlib"])
def test_what_unfolds_is_bounded_to_the_byte(compression: str) -> None:
    import bz2

    import lz4.frame

    pack = {"zstd": zstandard.compress, "lz4": lz4.frame.compress, "bz2": bz2.compress}
    data = pack.get(compression, zlib.compress)(b"\1" * 10**6)
    assert decompress(data, compression) == b"\1" * 10**6
    assert len(decompress(data, compression, 10**6)) == 10**6
    with pytest.raises(DecompressionError):
        decompress(data, compression, 10**6 - 1)
    assert max_decompressed(0) == ALWAYS_ACCEPTED
