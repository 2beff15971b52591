# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Summary of a bag, computed by reading its messages, so that truncated bags are supported."""

from dataclasses import dataclass
from pathlib import Path

from .errors import BagError
from .messages import BagMessage, BagTopic
from .metadata import BagMetadata, is_being_recorded
from .reader import BagReader

_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """One topic.

    Args:
        topic: Name, type, hash and QoS of the topic.
        message_count: Number of messages in the bag.
        start_time: Log time of the first message in nanoseconds; None without messages.
        end_time: Log time of the last message.
    """

    topic: BagTopic
    message_count: int
    start_time: int | None
    end_time: int | None

    @property
    def rate(self) -> float | None:
        """Mean rate in Hz; None with fewer than two messages, or if all have the same time."""
        if self.start_time is None or self.end_time is None or self.end_time <= self.start_time:
            return None
        return (self.message_count - 1) / (self.end_time - self.start_time) * _NANOSECONDS


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
        return (self.end_time - self.start_time) / _NANOSECONDS


@dataclass(slots=True)
class _Tally:
    topic: BagTopic
    count: int = 0
    start: int | None = None
    end: int | None = None

    def add(self, time: int) -> None:
        self.count += 1
        self.start = time if self.start is None else min(time, self.start)
        self.end = time if self.end is None else max(time, self.end)


def bag_info(path: str | Path) -> BagInfo:
    """Read a bag and return its summary.

    Args:
        path: The bag folder or one of its files.

    Raises:
        BagError: There is no bag, or a file is not of the format of its suffix.
    """
    reader = BagReader(path)
    tallies: dict[str, _Tally] = {}
    for item in reader.records():
        if isinstance(item, BagTopic):
            tallies.setdefault(item.name, _Tally(item))
        elif isinstance(item, BagMessage):
            tallies[item.topic].add(item.log_time)
    starts = [tally.start for tally in tallies.values() if tally.start is not None]
    ends = [tally.end for tally in tallies.values() if tally.end is not None]
    return BagInfo(
        reader.path,
        reader.files,
        sum(file.stat().st_size for file in reader.files),
        tuple(TopicInfo(t.topic, t.count, t.start, t.end) for _, t in sorted(tallies.items())),
        min(starts, default=None),
        max(ends, default=None),
        reader.is_complete,
        any(is_being_recorded(file) for file in reader.files),
        reader.unreadable_bytes,
        reader.compression,
        _distro(reader.path),
    )


def _distro(path: Path) -> str:
    try:
        return BagMetadata.read(path if path.is_dir() else path.parent).ros_distro
    except BagError:
        return ""
