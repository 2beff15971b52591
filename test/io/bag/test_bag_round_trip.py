# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded messages are read back unchanged, here, by rosbags and by the mcap package."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from bag_samples import START, TOPICS, Sampler, read, record
from mcap.reader import make_reader
from mcap.records import Chunk
from mcap.stream_reader import StreamReader
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader

from vms_ph_io.bag import (
    BagError,
    BagReader,
    BagWriter,
    MessageDefinition,
    MessageTypes,
    QosProfile,
    bag_info,
)
from vms_ph_io.bag.metadata import BagMetadata, time_span
from vms_ph_io.bag.writer import CHUNK_SIZE

REAL = Path(__file__).parent / "rosbag2"


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_messages_of_every_known_type_come_back_unchanged(
    every: int, folder: Path, types: MessageTypes, sampler: Sampler
) -> None:
    names = sorted(name for name in types.store.fielddefs if "/msg/" in name)
    assert len(names) > 150
    # Those of this project, and of the others one in so many.
    ours = [name for name in names if name.startswith("vms_ph/")]
    names = sorted({*ours, *names[::every]})
    sent = {}
    with BagWriter(folder) as writer:
        for number, name in enumerate(names):
            topic = f"/t{number}"
            writer.add_topic(topic, types.definition(name))
            sent[topic] = sampler.serialised(name)
            writer.write(topic, sent[topic], START + number)
    messages = read(folder)
    assert {message.topic: message.data for message in messages} == sent
    for message in messages:
        again = types.store.serialize_cdr(message.decode(), message.type)
        assert bytes(again) == message.data


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_rosbags_and_mcap_read_the_same_bag(
    compression: str, folder: Path, sampler: Sampler
) -> None:
    written = record(folder, sampler, compression=compression)
    assert read(folder) == written
    by_time = [(m.topic, m.log_time, m.data) for m in written]

    with Reader(folder) as reader:  # verifies the checksum of each chunk, and uses the indexes
        assert [(c.topic, t, bytes(d)) for c, t, d in reader.messages()] == by_time
        assert reader.message_count == len(written)
        assert (reader.start_time, reader.end_time - 1) == (by_time[0][1], by_time[-1][1])
        qos = reader.connections[0].ext.offered_qos_profiles
        assert [(q.depth, q.reliability.name, q.durability.name) for q in qos] == [
            (7, "RELIABLE", "VOLATILE")
        ]
    with AnyReader([folder]) as any_reader:  # compares the hashes with the definitions
        for connection, _, data in any_reader.messages():
            any_reader.deserialize(data, connection.msgtype)

    file = folder / "recording_0.mcap"
    with file.open("rb") as stream:
        seeking = make_reader(stream, validate_crcs=True)
        assert seeking.get_header().profile == "ros2"
        messages = [(c.topic, m.log_time, m.data) for _, c, m in seeking.iter_messages()]
        assert messages == by_time
        published = [(m.publish_time, m.sequence) for _, _, m in seeking.iter_messages()]
        assert published == [(m.publish_time, m.sequence) for m in written]
        summary = seeking.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.message_count == len(written)
        assert len(summary.chunk_indexes) == summary.statistics.chunk_count
    with file.open("rb") as stream:
        chunks = [r for r in StreamReader(stream, emit_chunks=True).records if isinstance(r, Chunk)]
    assert {c.compression for c in chunks} == {"" if compression == "none" else compression}


def test_only_the_selected_topics_are_read(folder: Path, sampler: Sampler) -> None:
    written = record(folder, sampler)
    assert read(folder, ["/tf"]) == [m for m in written if m.topic == "/tf"]
    assert read(folder, []) == []


def test_a_single_file_is_read_like_its_folder(folder: Path, sampler: Sampler) -> None:
    assert record(folder, sampler) == read(folder / "recording_0.mcap")


def test_no_chunk_is_larger_than_64_kib_unless_one_message_is(
    folder: Path, types: MessageTypes
) -> None:
    big = b"\0\1\0\0" + bytes(100_000)
    with BagWriter(folder, flush_period=3600) as writer:
        writer.add_topic("/t", types.definition("std_msgs/msg/String"))
        for number in range(500):
            writer.write("/t", bytes(1000), START + number)
        writer.write("/t", big, START + 500)
    with (folder / "recording_0.mcap").open("rb") as stream:
        sizes = [
            record.uncompressed_size
            for record in StreamReader(stream, emit_chunks=True).records
            if isinstance(record, Chunk)
        ]
    assert max(sizes[:-1]) <= CHUNK_SIZE
    assert min(sizes[:-2]) > CHUNK_SIZE - 1100  # and they are filled
    assert sizes[-1] == len(big) + 31
    assert len(read(folder)) == 501


def test_messages_are_written_to_the_file_within_a_second_without_further_calls(
    folder: Path, types: MessageTypes
) -> None:
    with BagWriter(folder) as writer:
        writer.add_topic("/t", types.definition("std_msgs/msg/String"))
        writer.write("/t", b"\0\1\0\0\1\0\0\0\0", START)
        begin = time.monotonic()
        while not read(folder):
            assert time.monotonic() - begin < 1.0
            time.sleep(0.01)


def test_several_threads_may_write(folder: Path, types: MessageTypes) -> None:
    def write(number: int) -> None:
        for step in range(500):
            writer.write(f"/t{number}", bytes([number]) * 8, START + step)

    with BagWriter(folder, flush_period=0.001) as writer:
        for number in range(4):
            writer.add_topic(f"/t{number}", types.definition("std_msgs/msg/String"))
        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number in range(4):
        messages = read(folder, [f"/t{number}"])
        assert [m.log_time for m in messages] == [START + step for step in range(500)]


def test_metadata_states_recording_until_the_bag_is_closed(folder: Path, sampler: Sampler) -> None:
    record(folder, sampler, close=False)
    metadata = BagMetadata.read(folder)
    assert metadata.custom == {"vms_ph_state": "recording"}
    assert [item.topic.name for item in metadata.topics] == list(TOPICS)
    assert metadata.message_count < 30


def test_metadata_is_written_as_rosbag2_writes_it(tmp_path: Path) -> None:
    real = (REAL / "plain/metadata.yaml").read_text()
    BagMetadata.read(REAL / "plain").write(tmp_path)
    ours = (tmp_path / "metadata.yaml").read_text()
    assert ours.rstrip() == real.replace("\n          []", " []").rstrip()
    assert yaml.safe_load(ours) == yaml.safe_load(real)


def test_metadata_counts_the_messages_of_the_bag(folder: Path, sampler: Sampler) -> None:
    written = record(folder, sampler)
    metadata = BagMetadata.read(folder)
    assert metadata.message_count == len(written) == 30
    assert {t.topic.name: t.message_count for t in metadata.topics} == dict.fromkeys(TOPICS, 10)
    assert time_span(metadata.files) == (written[0].log_time, written[-1].log_time)
    assert metadata.custom == {}
    assert not list(folder.glob(".*"))


def test_info_summarises_a_bag(folder: Path, sampler: Sampler) -> None:
    written = record(folder, sampler, compression="lz4")
    info = bag_info(folder)
    assert info.message_count == 30
    assert info.is_complete
    assert info.unreadable_bytes == 0
    assert info.compression == "lz4"
    assert info.duration == pytest.approx(0.29)
    assert (info.start_time, info.end_time) == (written[0].log_time, written[-1].log_time)
    assert info.size == (folder / "recording_0.mcap").stat().st_size
    joints = info.topics[0]
    assert joints.topic.name == "/joint_states"
    assert joints.topic.type == "sensor_msgs/msg/JointState"
    assert joints.topic.qos == (QosProfile(depth=7),)
    assert joints.topic.definition.hash.startswith("RIHS01_a13ee3")
    assert joints.rate == pytest.approx(100 / 3)


def test_a_bag_without_messages_is_valid(folder: Path, types: MessageTypes) -> None:
    with BagWriter(folder) as writer:
        writer.add_topic("/t", types.definition("std_msgs/msg/String"))
    info = bag_info(folder)
    assert (info.message_count, info.start_time, info.duration) == (0, None, 0.0)
    assert info.is_complete
    assert info.topics[0].rate is None
    with Reader(folder) as reader:
        assert reader.message_count == 0


@pytest.mark.parametrize("kind", ["plain", "zstd", "sqlite"])
def test_bags_of_a_real_rosbag2_are_read(kind: str) -> None:
    messages = read(REAL / kind)
    assert len(messages) == 6
    words = [m.decode().data for m in messages if m.topic == "/words"]  # type: ignore[attr-defined]
    assert words == ["word 0", "word 1", "word 2"]
    positions = [
        list(m.decode().position)  # type: ignore[attr-defined]
        for m in messages
        if m.topic == "/joint_states"
    ]
    assert positions == [[0.0, -1.0], [1.0, -1.0], [2.0, -1.0]]
    info = bag_info(REAL / kind)
    assert info.ros_distro == "jazzy"
    assert info.is_complete


IDL = """module mine { module msg {
  struct Word { string text; long number; };
}; };
"""


def test_messages_defined_in_idl_are_decoded(folder: Path, types: MessageTypes) -> None:
    text = "=" * 80 + f"\nIDL: mine/msg/Word\n{IDL}"
    data = b"\0\1\0\0\3\0\0\0hi\0\0\7\0\0\0"
    with BagWriter(folder) as writer:
        writer.add_topic("/w", MessageDefinition("mine/msg/Word", text, encoding="ros2idl"))
        writer.write("/w", data, START)
    message = read(folder)[0].decode()
    assert (message.text, message.number) == ("hi", 7)  # type: ignore[attr-defined]


@pytest.fixture
def one_topic(folder: Path, types: MessageTypes) -> Iterator[BagWriter]:
    with BagWriter(folder) as writer:
        writer.add_topic("/t", types.definition("std_msgs/msg/String"))
        yield writer


def test_bytes_that_do_not_match_the_type_are_rejected_with_its_name(
    one_topic: BagWriter, folder: Path
) -> None:
    for data in (b"", b"\0\1\0\0", b"\0\1\0\0\xff\xff\xff\xff", b"\7\7\7\7rubbish"):
        one_topic.write("/t", data, START)
    one_topic.close()
    for message in read(folder):
        with pytest.raises(BagError, match="std_msgs/msg/String"):
            message.decode()


def test_an_unknown_topic_is_refused(one_topic: BagWriter) -> None:
    with pytest.raises(BagError, match="/other was not added to the bag; call add_topic"):
        one_topic.write("/other", b"", START)


def test_a_topic_has_one_type(one_topic: BagWriter, types: MessageTypes) -> None:
    one_topic.add_topic("/t", types.definition("std_msgs/msg/String"))
    with pytest.raises(BagError, match="recorded with type std_msgs/msg/String"):
        one_topic.add_topic("/t", types.definition("std_msgs/msg/Bool"))


def test_a_time_before_1970_is_refused(one_topic: BagWriter) -> None:
    with pytest.raises(BagError, match="before 1970"):
        one_topic.write("/t", b"", -1)


def test_a_closed_bag_accepts_no_messages(one_topic: BagWriter) -> None:
    one_topic.close()
    one_topic.close()
    for call in (lambda: one_topic.write("/t", b"", START), one_topic.flush):
        with pytest.raises(BagError, match="is closed"):
            call()


def test_an_existing_bag_is_not_overwritten(folder: Path, sampler: Sampler) -> None:
    written = record(folder, sampler)
    with pytest.raises(BagError, match="exists; bags are not overwritten"):
        BagWriter(folder)
    assert read(folder) == written


@pytest.mark.parametrize("place", ["file/recording", "/proc/recording"])
def test_a_folder_that_cannot_be_created_is_reported(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BagError, match=r"cannot create a bag in .*recording: .*; choose a folder"):
        BagWriter(tmp_path / place)


def test_an_unknown_compression_leaves_no_folder_behind(folder: Path) -> None:
    with pytest.raises(BagError, match="'bzip'; accepted are none, lz4, zstd"):
        BagWriter(folder, compression="bzip")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("nowhere", None, "no bag at"),
        ("text.txt", "hello", "give a folder, an .mcap or a .db3 file"),
        ("a.mcap.zstd", "hello", "zstd -d"),
        ("a.mcap", "hello, this is no MCAP", "is not an MCAP file"),
        ("a.db3", "hello", "cannot read"),
    ],
)
def test_a_path_that_is_not_a_bag_is_rejected(
    name: str, content: str | None, says: str, tmp_path
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(BagError, match=says):
        read(tmp_path / name)


def test_a_folder_without_bag_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BagError, match=r"neither .mcap nor .db3"):
        BagReader(tmp_path)
