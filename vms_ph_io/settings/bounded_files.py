# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What compressed files unfold to, within a bound: no small file fills the memory or the disk."""

import bz2
import math
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import lz4.frame  # type: ignore[import-untyped]
import zstandard

from vms_ph_dynamics import VmsPhError

SMALL = 64 * 2**20
MOST_PER_BYTE = 200
_PIECE = 2**20


class UnfoldingError(VmsPhError):
    """A file that unfolds to more than is accepted of its size."""


def largest_unfolded(size: int) -> int:
    """Return the bytes to which a compressed file, chunk or message may unfold.

    64 MiB, and 200 for each byte of it. Messages of a robot at rest come to 20 to 60.

    Args:
        size: compressed, bytes.
    """
    return SMALL + MOST_PER_BYTE * size


def check_unfolded(name: str, size: int, unfolded: int, remedy: str) -> None:
    """Check the bytes to which something unfolds.

    Args:
        name: what it is.
        size: compressed, bytes.
        unfolded: so far, or as it states.
        remedy: how to make a file that is not compressed.

    Raises:
        UnfoldingError: they are more than :func:`largest_unfolded`.
    """
    if unfolded > largest_unfolded(size):
        raise UnfoldingError(
            f"{name} has {size} bytes and unfolds to more than {largest_unfolded(size)}; {remedy}"
        )


_UNFOLD: dict[str, Callable[[bytes, int], bytes]] = {
    "": lambda data, _: data,
    "none": lambda data, _: data,
    "zstd": lambda data, most: zstandard.ZstdDecompressor().stream_reader(data).read(most),
    "lz4": lambda data, most: lz4.frame.LZ4FrameDecompressor().decompress(data, most),
    "bz2": lambda data, most: bz2.BZ2Decompressor().decompress(data, most),
    "zlib": lambda data, most: zlib.decompressobj().decompress(data, most),
}


def unfold(data: bytes, compression: str, largest: int | None = None) -> bytes:
    """Return what a compressed chunk or message unfolds to.

    Args:
        data: compressed.
        compression: "zstd", "lz4", "bz2" or "zlib"; "none" or empty.
        largest: bytes; None: :func:`largest_unfolded`.

    Raises:
        UnfoldingError: more than that, or an unknown compression. What is damaged raises the error
            of its library.
    """
    if compression not in _UNFOLD:
        raise UnfoldingError(f"unknown compression {compression!r}")
    limit = largest_unfolded(len(data)) if largest is None else largest
    content = _UNFOLD[compression](data, limit + 1)
    if len(content) > limit:
        raise UnfoldingError(f"{len(data)} bytes unfold to more than {limit}")
    return content


def unfold_file(packed: Path, target: Path) -> None:
    """Write what a file of zstd unfolds to.

    Raises:
        UnfoldingError: more than :func:`largest_unfolded`.
        OSError: a file cannot be read or written.
        zstandard.ZstdError: it is damaged; what comes before the damage is written.
    """
    written, size = 0, packed.stat().st_size
    with packed.open("rb") as source, target.open("wb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True)
        while piece := stream.read(_PIECE):
            written += len(piece)
            check_unfolded(packed.name, size, written, "unpack it with zstd -d, and read that")
            file.write(piece)


def load_npz(path: Path) -> dict[str, Any]:
    """Return the arrays of an NPZ file by name.

    Raises:
        UnfoldingError: they are too large for its size. What is damaged raises anything.
    """
    import numpy as np

    size = path.stat().st_size
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        stated = sum(entry.file_size for entry in archive.infolist())  # no more of it is read
        check_unfolded(path.name, size, stated, "save it with numpy.savez")
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}


_COMPRESSED = 15  # the type of an element of a MAT file
_NUMERIC = [
    "double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "logical", "char",
]  # fmt: skip


def load_mat(path: Path) -> dict[str, Any]:
    """Return the arrays of numbers and texts of a MAT file by name.

    Raises:
        ImportError: scipy is not installed.
        UnfoldingError: they are too large for its size. What is damaged raises anything.
    """
    from scipy.io import loadmat, whosmat

    size, remedy = path.stat().st_size, "save it with -v6"
    content = _unfolded_mat(path, size, remedy)
    shapes = {name: shape for name, shape, kind in whosmat(BytesIO(content)) if kind in _NUMERIC}
    check_unfolded(path.name, size, 8 * sum(map(math.prod, shapes.values())), remedy)
    arrays = loadmat(BytesIO(content), variable_names=list(shapes))
    return {name: arrays[name] for name in shapes}


def _unfolded_mat(path: Path, size: int, remedy: str) -> bytes:
    """Return a MAT file whose elements are not compressed; only those of version 5 can be."""
    data = path.read_bytes()
    order = {b"IM": "little", b"MI": "big"}.get(data[126:128])
    if order is None:
        return data
    parts, position, total = [data[:128]], 128, 128
    while position < len(data):
        kind = int.from_bytes(data[position : position + 4], order)  # type: ignore[arg-type]
        end = position + 8 + int.from_bytes(data[position + 4 : position + 8], order)  # type: ignore[arg-type]
        part = data[position:end]
        if kind == _COMPRESSED:
            part = unfold(part[8:], "zlib", max(largest_unfolded(size) - total, 0))
            if int.from_bytes(part[:4], order) == _COMPRESSED:  # type: ignore[arg-type]
                raise UnfoldingError("an element is compressed twice")
        total += len(part)
        check_unfolded(path.name, size, total, remedy)
        parts.append(part)
        position = end
    return b"".join(parts)
