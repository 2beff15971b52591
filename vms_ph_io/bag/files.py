# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The files of a bag."""

import fcntl
import os
import re
from pathlib import Path

from .errors import BagError
from .metadata import BagMetadata

SUFFIXES = (".mcap", ".db3")


def bag_files(path: Path) -> tuple[Path, ...]:
    """Return the files of a bag in chronological order.

    Args:
        path: A rosbag2 folder, or one of its files. Without ``metadata.yaml``, which a killed
            recorder does not write, files are ordered by their numbers.

    Raises:
        BagError: There is no bag.
    """
    if os.path.isfile(path):  # False, too, for a path that no file can have
        if path.suffix not in SUFFIXES:
            raise BagError(
                f"{path} is not a bag; give a folder, an .mcap or a .db3 file"
                + ("; decompress it first: zstd -d" if path.suffix == ".zstd" else "")
            )
        return (path,)
    if not os.path.isdir(path):
        raise BagError(f"there is no bag at {path}")
    try:
        listed = tuple(path / Path(file.path).name for file in BagMetadata.read(path).files)
    except BagError:
        listed = ()
    if listed and all(os.path.isfile(file) and file.suffix in SUFFIXES for file in listed):
        return listed
    for suffix in SUFFIXES:
        if files := sorted(path.glob(f"*{suffix}"), key=_by_number):
            return tuple(files)
    raise BagError(f"folder {path} is not a bag: it contains neither .mcap nor .db3 files")


def is_being_recorded(file: Path) -> bool:
    """Return whether a BagWriter is writing a file; False if the file system has no locks."""
    with file.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


def _by_number(file: Path) -> tuple[str, int]:
    match = re.fullmatch(r"(.*?)(\d*)", file.stem)
    assert match is not None
    return match[1], int(match[2] or 0)
