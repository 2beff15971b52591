# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Summary and recovery of a bag by reading its messages, so that truncated bags are supported."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from .errors import BagError
from .messages import BagMessage, BagTopic
from .metadata import NS_PER_SEC, BagMetadata, TopicInfo, is_being_recorded, time_span
from .reader import BagReader
from .writer import BagWriter


@dataclass(frozen=True, slots=True)
class BagInfo:
    """Summary of a bag.

    Args:
        path: The given path.
        files: The files in chronological order.
        size: Total size of the files in bytes.
        topics: The topics, sorted by name.
        start_time: Log time of the first message in nanoseconds since 1970; None without messages.
        end_time: Log time of the last message.
        is_complete: Whether every file has its summary, which indexed readers need.
        is_being_recorded: Whether a recorder is still writing it.
        unreadable_bytes: Number of truncated or damaged bytes.
        compression: Compression of the chunks.
        ros_distro: ROS distribution of the recording system; empty if not recorded.
    """

    path: Path
    files: tuple[Path, ...]
    size: int
    topics: tuple[TopicInfo, ...]
    start_time: int | None
    end_time: int | None
    is_complete: bool
    is_being_recorded: bool
    unreadable_bytes: int
    compression: str
    ros_distro: str

    @property
    def message_count(self) -> int:
        """Number of messages of all topics."""
        return sum(topic.message_count for topic in self.topics)

    @property
    def duration(self) -> float:
        """Time from first to last message, s; 0 without messages."""
        if self.start_time is None or self.end_time is None:
            return 0.0
        return (self.end_time - self.start_time) / NS_PER_SEC


def bag_info(path: str | Path) -> BagInfo:
    """Read a bag and return its summary.

    Args:
        path: The bag folder or one of its files.

    Raises:
        BagError: There is no bag, or a file is not of the format of its suffix.
    """
    reader = BagReader(path)
    topics: dict[str, TopicInfo] = {}
    for record in reader.records():
        if isinstance(record, BagTopic):
            topics.setdefault(record.name, TopicInfo(record))
        elif isinstance(record, BagMessage):
            topics[record.topic].add(record.log_time)
    return BagInfo(
        reader.path,
        reader.files,
        sum(file.stat().st_size for file in reader.files),
        tuple(topics[name] for name in sorted(topics)),
        *time_span(topics.values()),
        reader.is_complete,
        any(is_being_recorded(file) for file in reader.files),
        reader.unreadable_bytes,
        reader.compression,
        _recorded_distro(reader.path),
    )


def _recorded_distro(path: Path) -> str:
    try:
        return BagMetadata.read(path if path.is_dir() else path.parent).ros_distro
    except BagError:
        return ""


@dataclass(frozen=True, slots=True)
class Recovery:
    """The result of ``recover``.

    Args:
        path: The new bag.
        message_count: Number of its messages.
        unreadable_bytes: Number of truncated or damaged bytes of the old files.
    """

    path: Path
    message_count: int
    unreadable_bytes: int


def recover(path: str | Path, output: str | Path | None = None) -> Recovery:
    """Write a complete bag that rosbags, the indexed reader of mcap and rosbag2 can open.

    Args:
        path: A folder with .mcap files, or one .mcap file; it is not changed.
        output: The folder of the new bag, which must not exist; None: ``<bag>_recovered`` beside
            the old one.

    Raises:
        BagError: There is no MCAP bag, the output exists, or the disk is full.
    """
    bag = bag_info(path)
    if any(file.suffix != ".mcap" for file in bag.files):
        raise BagError(f"{path} is not an MCAP bag; other formats cannot be recovered")
    source = bag.path.resolve()
    folder = source.with_name(f"{source.stem}_recovered") if output is None else Path(output)
    if folder.exists():
        raise BagError(f"{folder} exists; give a folder that does not exist")
    try:
        count = _copy_messages(bag, folder)
    except BagError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise BagError(
            f"cannot recover {path}: {error}; the bag is unchanged. Free some space, or name "
            "another output"
        ) from None
    return Recovery(folder, count, bag.unreadable_bytes)


def _copy_messages(info: BagInfo, folder: Path) -> int:
    """Copy the messages, of the first type of each topic; return their number."""
    types = {item.topic.name: item.topic.type for item in info.topics}
    with BagWriter(folder, compression=info.compression, ros_distro=info.ros_distro) as bag:
        for topic in (item.topic for item in info.topics):
            bag.add_topic(topic.name, topic.definition, topic.qos, topic.serialization_format)
        for message in BagReader(info.path).messages():
            if message.type == types[message.topic]:
                times = (message.log_time, message.publish_time)
                bag.write(message.topic, message.data, *times, message.sequence)
        bag.flush()
        return bag.message_count
