# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Repairs a bag that was truncated by a killed process or a full disk.

The new file is written beside the old one and flushed to the disk before it replaces the old one
atomically; the old file is kept as ``*.orig``.
"""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcap.records import Channel

from .errors import BagError
from .mcap_reader import Attachment, McapReader, RawMessage
from .mcap_writer import McapWriter
from .messages import BagTopic
from .metadata import BagMetadata, FileMetadata, TopicMetadata, bag_files, is_being_recorded
from .writer import RECORDING


@dataclass(frozen=True, slots=True)
class Recovery:
    """The result of ``recover``.

    Args:
        path: The repaired bag.
        message_count: Number of its messages.
        unreadable_bytes: Number of truncated or damaged bytes of the old files.
        rewritten: The files that were rewritten.
        originals: The kept old files; empty if a new folder was written.
    """

    path: Path
    message_count: int
    unreadable_bytes: int
    rewritten: tuple[Path, ...]
    originals: tuple[Path, ...]


def recover(path: str | Path, output: str | Path | None = None) -> Recovery:
    """Rewrite a bag so that rosbags, the indexed reader of mcap and rosbag2 can open it.

    Args:
        path: A folder with .mcap files, or one .mcap file.
        output: A folder that does not exist, to which the bag is written; the old bag is unchanged.
            None: incomplete files are replaced, and ``metadata.yaml`` is rewritten; a complete bag
            is unchanged.

    Raises:
        BagError: There is no MCAP bag, it is still being recorded, the output exists, or the disk
            is full; the old bag is unchanged.
    """
    source = _bag_of(Path(path))
    files = bag_files(source)
    if any(file.suffix != ".mcap" for file in files):
        raise BagError(f"{source} is not an MCAP bag; other formats cannot be recovered")
    try:
        scans = [_scan(file) for file in files]
        if output is None:
            return _in_place(source, files, scans)
        return _into(Path(output), source, files, scans)
    except OSError as error:
        raise BagError(
            f"cannot recover {source}: {error.strerror or error}; the bag is unchanged. Free "
            "some space, or name another output"
        ) from None


def _bag_of(path: Path) -> Path:
    """Return the folder if the path is the only file of a bag, so that its metadata is written."""
    try:
        if path.is_file() and [path.resolve()] == [f.resolve() for f in bag_files(path.parent)]:
            BagMetadata.read(path.parent)
            return path.parent
    except BagError:
        return path
    return path


@dataclass(frozen=True, slots=True)
class _Scan:
    """The content of one file."""

    file: FileMetadata
    topics: tuple[TopicMetadata, ...]
    unreadable_bytes: int
    is_complete: bool

    @property
    def is_whole(self) -> bool:
        return self.is_complete and not self.unreadable_bytes

    def named(self, name: str) -> "_Scan":
        """Return the same content with another file name."""
        return replace(self, file=replace(self.file, path=name))


def _scan(path: Path) -> _Scan:
    start: int | None = None
    end: int | None = None
    counts: dict[int, int] = {}
    with path.open("rb") as file:
        reader = McapReader(file, path.stat().st_size, str(path))
        for record in reader.records():
            if isinstance(record, RawMessage):
                counts[record.channel.id] = counts.get(record.channel.id, 0) + 1
                start = record.log_time if start is None else min(start, record.log_time)
                end = record.log_time if end is None else max(end, record.log_time)
    topics = []
    for number, channel in reader.channels.items():
        topic = BagTopic.of(channel, reader.schemas.get(channel.schema_id))
        topics.append(
            TopicMetadata(
                topic.name,
                topic.type,
                counts.get(number, 0),
                topic.hash,
                topic.qos,
                topic.serialization_format,
            )
        )
    metadata = FileMetadata(path.name, sum(counts.values()), start, end)
    return _Scan(metadata, tuple(topics), reader.unreadable_bytes, reader.is_complete)


def _into(folder: Path, source: Path, files: tuple[Path, ...], scans: Sequence[_Scan]) -> Recovery:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise BagError(f"{folder} exists; give a folder that does not exist") from None
    name = folder.resolve().name
    targets = [folder / f"{name}_{number}.mcap" for number in range(len(files))]
    scans = [scan.named(target.name) for scan, target in zip(scans, targets, strict=True)]
    try:
        for file, target, scan in zip(files, targets, scans, strict=True):
            _rewrite(file, target, scan)
        _metadata(scans, source).write(folder)
    except (OSError, BagError):
        for target in targets:
            target.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()
        raise
    return _report(folder, scans, targets, [])


def _in_place(source: Path, files: tuple[Path, ...], scans: Sequence[_Scan]) -> Recovery:
    cut = [(file, scan) for file, scan in zip(files, scans, strict=True) if not scan.is_whole]
    for file, _ in cut:
        _check_abandoned(file)
    originals = [_replace(file, scan) for file, scan in cut]
    if source.is_dir():
        metadata = _metadata(scans, source)
        if cut or not _agrees(source, metadata):
            metadata.write(source)
    return _report(source, scans, [file for file, _ in cut], originals)


def _check_abandoned(file: Path) -> None:
    """Reject a file that is being recorded: the recorder would continue in the replaced file."""
    if is_being_recorded(file):
        raise BagError(
            f"{file} is being recorded; stop the recorder first, or recover into a new folder"
        )


def _replace(file: Path, scan: _Scan) -> Path:
    """Replace a truncated file by a complete one; return the path of the kept old file."""
    partial = file.with_name(file.name + ".part")
    original = file.with_name(file.name + ".orig")
    if original.exists():
        raise BagError(
            f"{original} exists: the bag was recovered before; move that file away first"
        )
    partial.unlink(missing_ok=True)  # left over from a killed repair
    try:
        _rewrite(file, partial, scan)
        try:
            os.link(file, original)  # a link, so that the file of the bag exists at every moment
        except OSError:
            os.rename(file, original)  # the file system does not support links
        os.replace(partial, file)
        _sync_folder(file.parent)
    finally:
        partial.unlink(missing_ok=True)
    return original


def _rewrite(source: Path, target: Path, scan: _Scan) -> None:
    with source.open("rb") as file:
        reader = McapReader(file, source.stat().st_size, str(source))
        writer = McapWriter(target)
        try:
            _copy(reader, writer)
            serialized = BagMetadata((scan.file,), scan.topics).as_text()
            writer.add_metadata("rosbag2", {"serialized_metadata": serialized})
            writer.finish()
        except (OSError, BagError):
            writer.close()
            target.unlink(missing_ok=True)
            raise


def _copy(reader: McapReader, writer: McapWriter) -> None:
    """Copy all records; schemas and channels get new numbers."""
    schemas: dict[int, int] = {0: 0}  # 0: a channel without a schema
    channels: dict[int, int] = {}
    for record in reader.records():
        writer.compression = reader.compression or "none"
        if isinstance(record, RawMessage):
            channel = channels[record.channel.id]
            times = (record.log_time, record.publish_time)
            writer.add_message(channel, *times, record.data, record.sequence)
        elif isinstance(record, Channel):
            schema = reader.schemas.get(record.schema_id)
            if schema is not None and schema.id not in schemas:
                schemas[schema.id] = writer.add_schema(schema.name, schema.encoding, schema.data)
            channels[record.id] = writer.add_channel(
                record.topic,
                record.message_encoding,
                schemas.get(record.schema_id, 0),
                record.metadata,
            )
        elif isinstance(record, Attachment):
            writer.add_attachment(record.record)
        elif record.name != "rosbag2":  # it is rewritten
            writer.add_metadata(record.name, record.metadata)


def _metadata(scans: Sequence[_Scan], source: Path) -> BagMetadata:
    """Return the metadata of all files; entries that only the old metadata has are kept."""
    topics: dict[str, TopicMetadata] = {}
    for topic in (topic for scan in scans for topic in scan.topics):
        earlier = topics.get(topic.name)
        before = earlier.message_count if earlier else 0
        topics[topic.name] = replace(topic, message_count=topic.message_count + before)
    try:
        old = BagMetadata.read(source if source.is_dir() else source.parent)
    except BagError:
        old = BagMetadata((), ())
    custom = {name: value for name, value in old.custom.items() if name not in RECORDING}
    files = tuple(scan.file for scan in scans)
    return BagMetadata(files, tuple(topics.values()), ros_distro=old.ros_distro, custom=custom)


def _agrees(folder: Path, metadata: BagMetadata) -> bool:
    try:
        return BagMetadata.read(folder) == metadata
    except BagError:
        return False


def _report(
    path: Path, scans: Sequence[_Scan], rewritten: Sequence[Path], originals: Sequence[Path]
) -> Recovery:
    return Recovery(
        path,
        sum(scan.file.message_count for scan in scans),
        sum(scan.unreadable_bytes for scan in scans),
        tuple(rewritten),
        tuple(originals),
    )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
