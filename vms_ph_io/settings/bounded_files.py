# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What compressed files unfold to, within a bound: no small file fills the memory or the disk."""

import bz2
import math
import struct
import zipfile
import zlib
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from vms_ph_dynamics import VmsPhError

ALWAYS_ACCEPTED = 64 * 2**20
MAX_RATIO = 200


class DecompressionError(VmsPhError):
    """A file that unfolds to more than is accepted of its size."""


def max_decompressed(size: int) -> int:
    """Return the bytes to which a compressed file, chunk or message may unfold.

    64 MiB, and 200 for each byte of it. Messages of a robot at rest come to 20 to 60.

    Args:
        size: compressed, bytes.
    """
    return ALWAYS_ACCEPTED + MAX_RATIO * size


def check_decompressed(name: str, size: int, unfolded_size: int, remedy: str) -> None:
    """Check the bytes to which something unfolds.

    Args:
        name: name of the content, in messages.
        size: compressed, bytes.
        unfolded_size: so far, or as it states.
        remedy: how to make a file that is not compressed.

    Raises:
        DecompressionError: they are more than :func:`max_decompressed`.
    """
    if unfolded_size > max_decompressed(size):
        raise DecompressionError(
            f"{name} has {size} bytes and unfolds to more than {max_decompressed(size)}; {remedy}"
        )


# lz4 and zstandard come with the packages for bags; without them all else is read.
_DECOMPRESSORS: dict[str, Callable[[bytes, int], bytes]] = {
    "": lambda data, _: data,
    "none": lambda data, _: data,
    "zstd": lambda data, limit: (
        import_module("zstandard").ZstdDecompressor().stream_reader(data).read(limit)
    ),
    "lz4": lambda data, limit: (
        import_module("lz4.frame").LZ4FrameDecompressor().decompress(data, limit)
    ),
    "bz2": lambda data, limit: bz2.BZ2Decompressor().decompress(data, limit),
    "zlib": lambda data, limit: zlib.decompressobj().decompress(data, limit),
}


def decompress(data: bytes, compression: str, max_bytes: int | None = None) -> bytes:
    """Return what a compressed chunk or message unfolds to.

    Args:
        data: compressed.
        compression: "zstd", "lz4", "bz2" or "zlib"; "none" or empty.
        max_bytes: of the result; None: :func:`max_decompressed`.

    Raises:
        DecompressionError: more than that, or an unknown compression. Damage raises the error
            of its library.
    """
    if compression not in _DECOMPRESSORS:
        raise DecompressionError(f"unknown compression {compression!r}")
    limit = max_decompressed(len(data)) if max_bytes is None else max_bytes
    content = _DECOMPRESSORS[compression](data, limit + 1)
    if len(content) > limit:
        raise DecompressionError(f"{len(data)} bytes unfold to more than {limit}")
    return content


def load_npz(path: Path) -> dict[str, Any]:
    """Return the arrays of an NPZ file by name.

    Raises:
        DecompressionError: they are too large for its size, or nested too deeply. What is damaged
            raises anything.
    """
    import numpy as np

    size = path.stat().st_size
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        total_size = sum(entry.file_size for entry in archive.infolist())  # no more of it is read
        check_decompressed(path.name, size, total_size, "save it with numpy.savez")
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}


_NUMERIC = [
    "double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "logical", "char",
]  # fmt: skip

_FLOATS = ("float64", "float32")
# Types of the elements of MAT files, and structs in structs.
_DIMENSIONS, _MATRIX, _COMPRESSED, _MAX_DEPTH = 5, 14, 15, 32


def load_mat(path: Path) -> dict[str, Any]:
    """Return the arrays of numbers and texts of a MAT file by name, ``struct.field`` of a struct.

    Raises:
        ImportError: scipy is not installed.
        DecompressionError: they are too large for its size, or nested too deeply. What is damaged
            raises anything.
    """
    from scipy.io import loadmat, whosmat

    size, remedy = path.stat().st_size, "save it with -v6"
    content = _decompressed_mat(path, size, remedy)
    shapes = {name: shape for name, shape, kind in whosmat(BytesIO(content)) if kind in _NUMERIC}
    check_decompressed(path.name, size, 8 * sum(map(math.prod, shapes.values())), remedy)
    arrays = loadmat(BytesIO(content), variable_names=list(shapes))
    contents = {name: arrays[name] for name in shapes}
    if structs := [name for name, _, kind in whosmat(BytesIO(content)) if kind == "struct"]:
        check_decompressed(path.name, size, 8 * _declared_entries(content), remedy)
        arrays = loadmat(BytesIO(content), variable_names=structs, simplify_cells=True)
    for name in structs:
        fields = arrays[name].items() if isinstance(arrays[name], dict) else ()
        contents |= {f"{name}.{k}": v for k, v in fields if getattr(v, "dtype", None) in _FLOATS}
    return contents


def _declared_entries(content: bytes) -> int:
    """Return how many entries the arrays of a MAT file of version 5 declare, those of structs too.

    What loads them makes room for as many, whatever follows.
    """
    byte_order: Any = {b"IM": "little", b"MI": "big"}[content[126:128]]
    tag = struct.Struct("<II" if byte_order == "little" else ">II")
    entry_count, stack = 0, [(128, len(content), 0)]
    while stack:
        position, end, depth = stack.pop()
        if depth > _MAX_DEPTH:
            raise DecompressionError(f"structs are nested more than {_MAX_DEPTH} deep")
        while position + 8 <= end:
            element_type, byte_count = tag.unpack_from(content, position)
            start = position + 8
            next_position = start + byte_count + -byte_count % 8
            if element_type >> 16:  # up to four bytes within the tag
                byte_count, element_type = divmod(element_type, 1 << 16)
                start, next_position = position + 4, start
            if element_type == _MATRIX:
                stack.append((start, min(start + byte_count, end), depth + 1))
            elif element_type == _DIMENSIONS:
                sizes = [content[k : k + 4] for k in range(start, min(start + byte_count, end), 4)]
                entry_count += math.prod(int.from_bytes(size, byte_order) for size in sizes)
            position = next_position
    return entry_count


def _decompressed_mat(path: Path, size: int, remedy: str) -> bytes:
    """Return a MAT file whose elements are not compressed; only those of version 5 can be."""
    data = path.read_bytes()
    byte_order = {b"IM": "little", b"MI": "big"}.get(data[126:128])
    if byte_order is None:
        return data
    elements, position, total_size = [data[:128]], 128, 128
    while position < len(data):
        element_type = int.from_bytes(data[position : position + 4], byte_order)  # type: ignore[arg-type]
        end = position + 8 + int.from_bytes(data[position + 4 : position + 8], byte_order)  # type: ignore[arg-type]
        element = data[position:end]
        if element_type == _COMPRESSED:
            element = decompress(element[8:], "zlib", max(max_decompressed(size) - total_size, 0))
            if int.from_bytes(element[:4], byte_order) == _COMPRESSED:  # type: ignore[arg-type]
                raise DecompressionError("an element is compressed twice")
        total_size += len(element)
        check_decompressed(path.name, size, total_size, remedy)
        elements.append(element)
        position = end
    return b"".join(elements)
