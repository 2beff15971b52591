# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Copies what can be read of a truncated or damaged bag into a new bag, which is complete."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from .errors import BagError
from .info import BagInfo, bag_info
from .reader import BagReader
from .types import MessageDefinition
from .writer import BagWriter


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
    about = bag_info(path)
    if any(file.suffix != ".mcap" for file in about.files):
        raise BagError(f"{path} is not an MCAP bag; other formats cannot be recovered")
    source = about.path.resolve()
    folder = source.with_name(f"{source.stem}_recovered") if output is None else Path(output)
    if folder.exists():
        raise BagError(f"{folder} exists; give a folder that does not exist")
    try:
        count = _copy(about, folder)
    except BagError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise BagError(
            f"cannot recover {path}: {error}; the bag is unchanged. Free some space, or name "
            "another output"
        ) from None
    return Recovery(folder, count, about.unreadable_bytes)


def _copy(about: BagInfo, folder: Path) -> int:
    """Copy the messages, of the first type of each topic; return their number."""
    types = {item.topic.name: item.topic.type for item in about.topics}
    with BagWriter(folder, compression=about.compression, ros_distro=about.ros_distro) as bag:
        for topic in (item.topic for item in about.topics):
            definition = MessageDefinition(topic.type, topic.definition, topic.hash, topic.encoding)
            bag.add_topic(topic.name, definition, topic.qos, topic.serialization_format)
        for message in BagReader(about.path).messages():
            if message.type == types[message.topic]:
                times = (message.log_time, message.publish_time)
                bag.write(message.topic, message.data, *times, message.sequence)
        bag.flush()
        return bag.message_count
