# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The messages of bags of ROS 2 and ROS 1, complete or damaged, in the order of the recording."""

import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard
from rosbags.rosbag1 import Reader as Ros1Reader
from rosbags.rosbag1.reader import Chunk, decompressors

from ..bag import BagError, BagMessage, BagReader, MessageDefinition, PresentNames
from ..bag.messages import SchemaDecoder
from ..bag.metadata import BagMetadata, by_number
from ..progress import Progress, no_progress
from ..settings.bounded_files import DecompressionError, check_decompressed, decompress
from .recording import RecordingError

_REPORT_PERIOD = 5000  # messages between two reports of the progress
_CHUNK_SIZE = 2**20


class Messages:
    """The messages of a bag, of which those that are damaged are counted and left out.

    Args:
        path: folder or file of a rosbag2 (MCAP or SQLite, compressed or split), or a ROS 1 bag.
        progress: called while messages are read.

    Raises:
        RecordingError: there is no bag at the path.
    """

    def __init__(self, path: Path, progress: Progress = no_progress) -> None:
        self.path = path
        self.notes: list[str] = []
        """What was damaged or left out; complete once all messages are read."""
        self.size = 0
        """Bytes of the files."""
        self._progress, self._is_ros1 = progress, path.suffix == ".bag" and path.is_file()

    def __iter__(self) -> Iterator[BagMessage]:
        return self.on_topics(None)

    def on_topics(self, topics: Collection[str] | None) -> Iterator[BagMessage]:
        """Yield the messages of some topics, or all, with their present names."""
        self.notes, count = [], 0
        source = self._ros1_messages(topics) if self._is_ros1 else self._rosbag2_messages(topics)
        try:
            for message in source:
                count += 1
                yield message
        except DecompressionError as error:
            raise RecordingError(
                f"a part of {self.path.name} is refused: {error}; `rosbag decompress` of ROS 1 or "
                "`ros2 bag convert` of ROS 2 unpacks it"
            ) from None
        except (BagError, OSError, EOFError) as error:
            if not count:
                raise RecordingError(f"{error}") from None
            self.notes.append(f"the file is damaged: read up to message {count}; {error}")

    def _rosbag2_messages(self, topics: Collection[str] | None) -> Iterator[BagMessage]:
        with tempfile.TemporaryDirectory(prefix="vms_ph_") as folder:
            files, is_per_message = self._unpacked_files(Path(folder))
            present_names = PresentNames()
            for file_index, file in enumerate(files):
                reader = BagReader(file)
                size = max(file.stat().st_size, 1)
                for count, raw_message in enumerate(reader.messages()):
                    if count % _REPORT_PERIOD == 0:
                        share = reader.position / size if reader.position else 0.5
                        self._progress((file_index + share) / len(files), "reading")
                    message = _unpacked_message(raw_message) if is_per_message else raw_message
                    message = present_names.translate(message)
                    if topics is None or message.topic in topics:
                        yield message
                if file.suffix == ".mcap" and not reader.is_complete:
                    text = f"{file.name} is not complete: read as far as it goes, "
                    text += f"{reader.unreadable_bytes} bytes could not be read"
                    self.notes.append(text)
                elif reader.unreadable_bytes:
                    self.notes.append(
                        f"{file.name} is damaged: {reader.unreadable_bytes} bytes were left out"
                    )

    def _unpacked_files(self, folder: Path) -> tuple[list[Path], bool]:
        """Return the files of a rosbag2, decompressed if they are compressed as files."""
        compressed_files = [self.path] if self.path.suffix == ".zstd" else []
        if not self.path.exists():
            raise RecordingError(f"there is no recording at {self.path}")
        is_per_message = False
        if self.path.is_dir():
            compressed_files = sorted(
                self.path.glob("*.zstd"), key=lambda file: by_number(Path(file.stem))
            )
            with suppress(BagError):
                metadata = BagMetadata.read(self.path)
                is_per_message = metadata.compression_mode == "message"
                paths = [self.path / Path(file.path).name for file in metadata.files]
                self.notes += [f"{f.name} of the bag is missing" for f in paths if not f.is_file()]
                compressed_files = [
                    path for path in paths if path.suffix == ".zstd" and path.is_file()
                ] or compressed_files
        if not compressed_files or is_per_message:
            files = BagReader(self.path).files
            self.size = sum(file.stat().st_size for file in files)
            return list(files), is_per_message
        self.size = sum(file.stat().st_size for file in compressed_files)
        return [self._decompress(file, folder) for file in compressed_files], False

    def _decompress(self, file: Path, folder: Path) -> Path:
        target, remedy = folder / file.stem, "unpack it with zstd -d, and read that"
        try:
            size, unpacked_size = file.stat().st_size, 0
            with file.open("rb") as source, target.open("wb") as target_file:
                stream = zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True)
                while chunk := stream.read(_CHUNK_SIZE):
                    unpacked_size += len(chunk)
                    check_decompressed(file.name, size, unpacked_size, remedy)
                    target_file.write(chunk)
        except zstandard.ZstdError as error:
            self.notes.append(f"{file.name} is damaged: decompressed as far as it goes; {error}")
        except OSError as error:
            raise RecordingError(
                f"{file.name} cannot be decompressed into {folder.parent}: {error.strerror}; "
                f"TMPDIR names another folder, or {remedy}"
            ) from None
        return target

    def _ros1_messages(self, topics: Collection[str] | None) -> Iterator[BagMessage]:
        self.size = self.path.stat().st_size
        try:
            with _BoundedRos1Reader(self.path) as reader:
                decoders = {
                    c.id: SchemaDecoder(MessageDefinition(_ros2(c.msgtype), c.msgdef.data), "ros1")
                    for c in reader.connections
                }
                message_count = max(reader.message_count, 1)
                for count, (connection, time, data) in enumerate(reader.messages()):
                    if count % _REPORT_PERIOD == 0:
                        self._progress(count / message_count, "reading")
                    if topics is None or connection.topic in topics:
                        kind, decoder = _ros2(connection.msgtype), decoders[connection.id]
                        content = bytes(data)
                        yield BagMessage(connection.topic, kind, time, time, content, 0, decoder)
        except (BagError, DecompressionError, GeneratorExit):
            raise
        except Exception as error:  # rosbags raises anything for a damaged file
            raise BagError(
                f"{self.path.name} is damaged, or was not closed ({error or repr(error)}); "
                "`rosbag reindex` of ROS 1 repairs it"
            ) from None


def _ros2(kind: str) -> str:
    """Return the name of a type of ROS 1 as ROS 2 writes it."""
    return kind if "/msg/" in kind else kind.replace("/", "/msg/", 1)


def _unpacked_message(message: BagMessage) -> BagMessage:
    """Return a message that was compressed by itself."""
    try:
        return replace(message, data=decompress(message.data, "zstd"))
    except zstandard.ZstdError as error:
        raise BagError(f"a compressed message is damaged: {error}") from None


class _BoundedRos1Reader(Ros1Reader):
    """Reads ROS 1 bags whose chunks are bounded, and each listed once."""

    def read_chunk(self) -> Chunk:
        """Read the head of a chunk."""
        chunk = super().read_chunk()
        if any(chunk.datapos == other_chunk.datapos for other_chunk in self.chunks.values()):
            raise ValueError("a chunk is listed twice")
        compression = next(n for n, unpack in decompressors.items() if unpack is chunk.decompressor)
        return chunk._replace(decompressor=lambda data: decompress(data, compression))


def decode(message: BagMessage) -> Any:
    """Return the message, or None if its bytes do not fit its definition."""
    with suppress(BagError):
        return message.decode()
    return None
