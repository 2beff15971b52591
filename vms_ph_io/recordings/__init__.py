# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of robots: bags of ROS 2 and ROS 1, and files of columns, as motions of a model."""

from collections.abc import Mapping
from pathlib import Path

from ..bag.metadata import bag_path
from ..progress import Progress, no_progress
from .from_columns import ARRAY_SUFFIXES, TEXT_SUFFIXES, read_columns
from .from_messages import read_messages
from .recording import Recording, RecordingError, Series

__all__ = ["Recording", "RecordingError", "Series", "read_recording"]

BAG_SUFFIXES = (".mcap", ".db3", ".zstd", ".bag")


def read_recording(
    path: str | Path,
    *,
    columns: str | Path | None = None,
    topics: Mapping[str, str] | None = None,
    progress: Progress = no_progress,
) -> Recording:
    """Return a recording; what is damaged is read as far as it goes, see its ``notes``.

    Args:
        path: a rosbag2 folder or file (MCAP or SQLite, also compressed), the folder of a run with
            its bag, a ROS 1 bag, or a file of columns: CSV or other text, NPZ, MAT.
        columns: a column map for the latter.
        topics: topics of a bag that are chosen, by role: ``joints``, ``base``, ``wrench.<frame>``.
        progress: called while the recording is read.

    Raises:
        RecordingError: there is no recording, or it is of no kind that is read.
    """
    file = bag_path(path)
    if not file.exists():
        raise RecordingError(f"there is no recording at {file}")
    if columns is not None and not Path(columns).is_file():
        raise RecordingError(f"there is no column map at {columns}")
    suffix = file.suffix.lower()
    if columns is not None and (suffix in BAG_SUFFIXES or (file / "metadata.yaml").exists()):
        text = f"{file} is a bag, and a column map is for files of columns: write one with "
        raise RecordingError(f"{text}vms-ph bag export {file} FILE.csv --topics /joint_states")
    if columns is not None or suffix in (*ARRAY_SUFFIXES, *TEXT_SUFFIXES):
        return read_columns(file, None if columns is None else Path(columns), progress)
    if file.is_dir() or suffix in BAG_SUFFIXES:
        return read_messages(file, topics, progress)
    text = f"{file.name} is of no kind that is read: accepted are rosbag2 folders, "
    raise RecordingError(text + ", ".join((*BAG_SUFFIXES, *TEXT_SUFFIXES, *ARRAY_SUFFIXES)))
