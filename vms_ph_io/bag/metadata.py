# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""``metadata.yaml``, the file that makes a folder a rosbag2 bag (version 9, as Jazzy writes it)."""

import contextlib
import fcntl
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from vms_ph_dynamics import VmsPhError

from ..settings.bounded_text import read_yaml
from .errors import BagError
from .messages import BagTopic, MessageDefinition, parse_profiles

FILE_NAME = "metadata.yaml"
VERSION = 9
NS_PER_SEC = 1e9

# The start time that rosbag2 writes for a recording without messages.
NO_START_TIME = 2**63 - 1


@dataclass(slots=True)
class TopicInfo:
    """A topic and what a bag has of it.

    Args:
        topic: Name, type, hash and QoS of the topic.
        message_count: Number of messages in the bag.
        start_time: Log time of the first message in nanoseconds; None without messages.
        end_time: Log time of the last message.
    """

    topic: BagTopic
    message_count: int = 0
    start_time: int | None = None
    end_time: int | None = None

    def add(self, time: int) -> None:
        """Count a message with its log time, ns."""
        self.message_count += 1
        self.start_time = time if self.start_time is None else min(time, self.start_time)
        self.end_time = time if self.end_time is None else max(time, self.end_time)

    @property
    def rate(self) -> float | None:
        """Mean rate in Hz; None with fewer than two messages, or if all have the same time."""
        if self.start_time is None or self.end_time is None or self.end_time <= self.start_time:
            return None
        return (self.message_count - 1) / (self.end_time - self.start_time) * NS_PER_SEC


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """One file of a bag; times are log times in nanoseconds."""

    path: str
    message_count: int = 0
    start_time: int | None = None
    end_time: int | None = None


def time_span(spans: Iterable[TopicInfo | FileMetadata]) -> tuple[int | None, int | None]:
    """Return the log times of the first and of the last message, ns; None without messages."""
    spans = list(spans)
    starts = [span.start_time for span in spans if span.start_time is not None]
    ends = [span.end_time for span in spans if span.end_time is not None]
    return min(starts, default=None), max(ends, default=None)


@dataclass(frozen=True, slots=True)
class BagMetadata:
    """The content of ``metadata.yaml``.

    Args:
        files: The files in chronological order.
        topics: All topics.
        storage: The format of the files.
        ros_distro: ROS distribution of the recording system; empty without ROS 2.
        custom: Further entries, as strings.
        compression_mode: "file" or "message" where rosbag2 has compressed them; else empty.
    """

    files: tuple[FileMetadata, ...]
    topics: tuple[TopicInfo, ...]
    storage: str = "mcap"
    ros_distro: str = ""
    custom: Mapping[str, str] = field(default_factory=dict)
    compression_mode: str = ""

    @property
    def message_count(self) -> int:
        """Number of messages in all files."""
        return sum(file.message_count for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """Return the content in the order and format of rosbag2."""
        return {
            "version": VERSION,
            "storage_identifier": self.storage,
            **_time_entries(*time_span(self.files)),
            "message_count": self.message_count,
            "topics_with_message_count": [
                {
                    "topic_metadata": {
                        "name": entry.topic.name,
                        "type": entry.topic.type,
                        "serialization_format": entry.topic.serialization_format,
                        "offered_qos_profiles": [qos.as_dict() for qos in entry.topic.qos],
                        "type_description_hash": entry.topic.definition.hash,
                    },
                    "message_count": entry.message_count,
                }
                for entry in self.topics
            ],
            "compression_format": "",
            "compression_mode": "",
            "relative_file_paths": [file.path for file in self.files],
            "files": [
                {
                    "path": file.path,
                    **dict(reversed(_time_entries(file.start_time, file.end_time).items())),
                    "message_count": file.message_count,
                }
                for file in self.files
            ],
            "custom_data": dict(self.custom) or None,
            "ros_distro": self.ros_distro,
        }

    def as_text(self) -> str:
        """Return the content as rosbag2 stores it inside an MCAP file."""
        return _dump(self.as_dict())

    def write(self, folder: Path) -> None:
        """Write the file into a bag atomically.

        Raises:
            OSError: The folder is not writable, or the disk is full; the old file is unchanged.
        """
        partial_file = folder / f".{FILE_NAME}.part"
        try:
            with partial_file.open("w", encoding="utf-8") as file:
                file.write(_dump({"rosbag2_bagfile_information": self.as_dict()}))
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial_file, folder / FILE_NAME)
        except OSError:
            with contextlib.suppress(OSError):
                partial_file.unlink()
            raise

    @classmethod
    def read(cls, folder: Path) -> "BagMetadata":
        """Read the file; versions 4 to 9 are supported.

        Raises:
            BagError: The file is missing, or its content is invalid.
        """
        path = folder / FILE_NAME
        try:
            return cls._parse(read_yaml(path)["rosbag2_bagfile_information"])
        except VmsPhError as error:
            raise BagError(str(error)) from None
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
            raise BagError(f"{path} is not the metadata of a bag: {error!r}") from None

    @classmethod
    def _parse(cls, content: Mapping[str, Any]) -> "BagMetadata":
        topics = []
        for entry in content["topics_with_message_count"] or ():
            topic = entry["topic_metadata"]
            hash_ = str(topic.get("type_description_hash") or "")
            definition = MessageDefinition(str(topic["type"]), hash=hash_)
            qos = parse_profiles(topic.get("offered_qos_profiles") or "")
            format_ = str(topic["serialization_format"])
            recorded_topic = BagTopic(str(topic["name"]), definition, qos, format_)
            topics.append(TopicInfo(recorded_topic, int(entry["message_count"])))
        file_entries = {str(entry["path"]): entry for entry in content.get("files") or ()}
        files = []
        for path in content["relative_file_paths"]:
            entry = file_entries.get(path, {"message_count": content["message_count"], **content})
            start = int(entry["starting_time"]["nanoseconds_since_epoch"])
            end = start + int(entry["duration"]["nanoseconds"])
            count = int(entry["message_count"])
            files.append(FileMetadata(path, count, *((start, end) if count else (None, None))))
        custom = {str(k): str(v) for k, v in (content.get("custom_data") or {}).items()}
        storage, distro = str(content["storage_identifier"]), str(content.get("ros_distro") or "")
        compression_mode = str(content.get("compression_mode") or "").lower()
        return cls(tuple(files), tuple(topics), storage, distro, custom, compression_mode)


def _time_entries(start: int | None, end: int | None) -> dict[str, dict[str, int]]:
    return {
        "duration": {"nanoseconds": 0 if start is None or end is None else end - start},
        "starting_time": {"nanoseconds_since_epoch": NO_START_TIME if start is None else start},
    }


class _Rosbag2Style(yaml.SafeDumper):
    """YAML in the style of rosbag2: empty strings as "", null as ~, lists indented."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


_Rosbag2Style.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="" if text else '"'
    ),
)
_Rosbag2Style.add_representer(
    type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", "~")
)


def _dump(content: Mapping[str, Any]) -> str:
    return yaml.dump(dict(content), Dumper=_Rosbag2Style, sort_keys=False, width=10_000)


SUFFIXES = (".mcap", ".db3")


def bag_path(run: str | Path) -> Path:
    """Return the path of a bag: the bag in the folder of a run, otherwise the path itself."""
    bag = Path(run) / "bag"
    return bag if os.path.isdir(bag) else Path(run)


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
        paths = tuple(path / Path(file.path).name for file in BagMetadata.read(path).files)
    except BagError:
        paths = ()
    if paths and all(os.path.isfile(file) and file.suffix in SUFFIXES for file in paths):
        return paths
    for suffix in SUFFIXES:
        if files := sorted(path.glob(f"*{suffix}"), key=by_number):
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


def by_number(file: Path) -> tuple[str, int]:
    """Return the name and the number at its end, by which the files of a bag are sorted."""
    name = file.stem.rstrip("0123456789")
    return name, int(file.stem.removeprefix(name) or 0)
