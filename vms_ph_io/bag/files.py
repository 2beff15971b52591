"""The files of a bag."""

import fcntl
import re
from pathlib import Path

from vms_ph_io.bag.errors import BagError
from vms_ph_io.bag.metadata import BagMetadata

SUFFIXES = (".mcap", ".db3")


def bag_files(path: Path) -> tuple[Path, ...]:
    """The files of a bag, in order of time.

    Args:
        path: A rosbag2 folder, or one of its files. Without ``metadata.yaml``, as a killed recorder
            leaves the folder, the files count by their numbers.

    Raises:
        BagError: There is no bag.
    """
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise BagError(
                f"{path} is no bag: a folder, an .mcap or a .db3 file is wanted"
                + ("; decompress it first: zstd -d" if path.suffix == ".zstd" else "")
            )
        return (path,)
    if not path.is_dir():
        raise BagError(f"there is no bag at {path}")
    try:
        listed = tuple(path / Path(file.path).name for file in BagMetadata.read(path).files)
    except BagError:
        listed = ()
    if listed and all(file.is_file() and file.suffix in SUFFIXES for file in listed):
        return listed
    for suffix in SUFFIXES:
        if found := sorted(path.glob(f"*{suffix}"), key=_by_number):
            return tuple(found)
    raise BagError(f"folder {path} holds no bag: neither .mcap nor .db3 files are in it")


def is_being_recorded(file: Path) -> bool:
    """Whether a recorder of ours holds a file; False where the file system has no locks."""
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
