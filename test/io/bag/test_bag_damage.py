# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Truncated or damaged bags: all complete chunks are read, and the bags can be repaired."""

import io
import os
import shutil
from pathlib import Path

import pytest
from bag_samples import TOPICS, Sampler, read, record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from rosbags.rosbag2 import Reader

from vms_ph_io.bag import (
    BagError,
    BagMessage,
    BagReader,
    BagWriter,
    MessageTypes,
    bag_info,
    recover,
)
from vms_ph_io.bag.mcap_reader import McapReader
from vms_ph_io.bag.metadata import BagMetadata

FILE = "recording_0.mcap"


# Every one in the campaign; 5 is no divisor of the size of any record.
@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.slow)])
def test_a_bag_truncated_at_any_byte_yields_the_messages_of_its_complete_chunks(
    folder: Path, sampler: Sampler, every: int
) -> None:
    written = record(folder, sampler, count=10)
    file = folder / FILE
    size = file.stat().st_size
    counts = []
    for length in range(size, -1, -every):
        os.truncate(file, length)
        reader = BagReader(file)
        messages = list(reader.messages())
        assert messages == written[: len(messages)]
        assert reader.is_complete == (length == size)
        assert 0 <= reader.unreadable_bytes <= length
        counts.append(len(messages))
    assert counts == sorted(counts, reverse=True)
    assert set(counts) == {0, 4, 8, 10}  # complete chunks of four messages


def records_of(file: Path) -> list[int]:
    """Return the offsets of the records of a file."""
    content, places, at = file.read_bytes(), [], 8
    while at < len(content) - 8:
        places.append(at)
        at += 9 + int.from_bytes(content[at + 1 : at + 9], "little")
    return places


# At the beginning of a record, or within its content; in the campaign at both of each.
@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_a_bag_truncated_at_any_record_is_repaired_for_indexed_readers(
    folder: Path, sampler: Sampler, tmp_path: Path, every: int
) -> None:
    written = record(folder, sampler, count=10)
    places = records_of(folder / FILE)
    lengths = sorted({0, 1, 8} | {place + d for place in places for d in (0, 12)})
    for length in lengths[::every]:
        cut = tmp_path / "cut"
        shutil.copytree(folder, cut)
        file = cut / FILE
        os.truncate(file, length)
        whole = read(cut)
        report = recover(cut)
        assert_whole(report.path, whole)
        assert whole == written[: len(whole)]
        assert report.message_count == len(whole)
        assert file.stat().st_size == length
        shutil.rmtree(cut)
        shutil.rmtree(report.path)


def assert_whole(bag: Path, messages: list[BagMessage]) -> None:
    reader = BagReader(bag)
    assert list(reader.messages()) == messages
    assert reader.is_complete
    assert reader.unreadable_bytes == 0
    expected = [(m.topic, m.log_time, m.data) for m in messages]
    with Reader(bag) as rosbags:
        assert [(c.topic, t, bytes(d)) for c, t, d in rosbags.messages()] == expected
        assert rosbags.message_count == len(messages)
    with (bag / f"{bag.name}_0.mcap").open("rb") as stream:
        seeking = make_reader(stream, validate_crcs=True)
        assert [(c.topic, m.log_time, m.data) for _, c, m in seeking.iter_messages()] == expected
    metadata = BagMetadata.read(bag)
    assert metadata.message_count == len(messages)
    assert "vms_ph_state" not in metadata.custom


def test_a_bag_that_was_never_closed_is_recovered_with_all_its_topics(
    folder: Path, sampler: Sampler
) -> None:
    written = record(folder, sampler, close=False, compression="zstd")
    before = bag_info(folder)
    assert not before.is_complete
    assert before.message_count == 30
    repaired = recover(folder).path
    assert repaired.name == "recording_recovered"
    assert_whole(repaired, written)
    after = bag_info(repaired)
    assert after.compression == "zstd"
    assert [t.topic for t in after.topics] == [t.topic for t in before.topics]


def test_a_bag_is_recovered_into_a_new_folder_and_unchanged(
    folder: Path, sampler: Sampler, tmp_path: Path
) -> None:
    written = record(folder, sampler, close=False)
    content = (folder / FILE).read_bytes()
    report = recover(folder, tmp_path / "rescued")
    assert report.path == tmp_path / "rescued"
    assert_whole(report.path, written)
    assert (folder / FILE).read_bytes() == content
    with pytest.raises(BagError, match="rescued exists"):
        recover(folder, tmp_path / "rescued")


def test_a_single_file_without_metadata_is_recovered(
    folder: Path, sampler: Sampler, tmp_path: Path
) -> None:
    written = record(folder, sampler, close=False)
    file = tmp_path / "alone.mcap"
    shutil.copy(folder / FILE, file)
    report = recover(file)
    assert report.path == tmp_path / "alone_recovered"
    assert_whole(report.path, written)


def test_a_bag_is_recovered_while_it_is_recorded(folder: Path, types: MessageTypes) -> None:
    with BagWriter(folder, flush_period=3600) as writer:
        writer.add_topic("/t", types.definition("std_msgs/msg/Bool"))
        writer.write("/t", b"\0\1\0\0\1", 1)
        writer.flush()
        assert bag_info(folder).is_being_recorded
        assert recover(folder).message_count == 1
        writer.write("/t", b"\0\1\0\0\0", 2)
    assert not bag_info(folder).is_being_recorded
    assert len(read(folder)) == 2


def test_only_mcap_bags_are_recovered() -> None:
    with pytest.raises(BagError, match="not an MCAP bag"):
        recover(Path(__file__).parent / "rosbag2/sqlite")


def test_a_truncated_file_of_rosbag2_is_recovered(tmp_path: Path) -> None:
    file = tmp_path / "zstd_0.mcap"
    shutil.copy(Path(__file__).parent / "rosbag2/zstd/zstd_0.mcap", file)
    os.truncate(file, file.stat().st_size - 3000)
    before = read(file)
    assert before
    assert read(recover(file).path) == before


def test_zeros_after_a_power_cut_are_not_messages(folder: Path, sampler: Sampler) -> None:
    written = record(folder, sampler, close=False)
    with (folder / FILE).open("ab") as file:
        file.write(bytes(5000))
    reader = BagReader(folder)
    assert list(reader.messages()) == written
    assert reader.unreadable_bytes == 5000


def test_a_damaged_chunk_loses_only_its_own_messages(folder: Path, sampler: Sampler) -> None:
    written = record(folder, sampler)
    file = folder / FILE
    content = bytearray(file.read_bytes())
    chunks = [place for place in records_of(file) if content[place] == 6]
    content[chunks[2] + 200] ^= 0xFF
    file.write_bytes(content)
    reader = BagReader(folder)
    assert list(reader.messages()) == written[:8] + written[12:]
    assert reader.is_complete
    assert reader.unreadable_bytes > 0
    assert_whole(recover(folder).path, written[:8] + written[12:])


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_reader_raises_no_error_for_any_damage(
    data: st.DataObject, tmp_path_factory, sampler
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damage" / "recording"
    if not folder.exists():
        record(folder, sampler)
    content = bytearray((folder / FILE).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(8, len(content) - 1))] = data.draw(st.integers(0, 255))
    reader = McapReader(io.BytesIO(bytes(content)), len(content), "damaged")
    for _ in reader.records():
        pass
    assert reader.unreadable_bytes <= len(content)


def test_files_of_a_killed_recorder_are_read_in_the_order_of_their_numbers(
    folder: Path, sampler: Sampler, tmp_path: Path
) -> None:
    written = record(folder, sampler)
    bag = tmp_path / "split"
    bag.mkdir()
    for number in (0, 2, 10):
        shutil.copy(folder / FILE, bag / f"split_{number}.mcap")
    names = [file.name for file in BagReader(bag).files]
    assert names == ["split_0.mcap", "split_2.mcap", "split_10.mcap"]
    assert read(bag) == written * 3
    repaired = recover(bag).path
    assert read(repaired) == written * 3
    topics = BagMetadata.read(repaired).topics
    assert {t.topic.name: t.message_count for t in topics} == dict.fromkeys(TOPICS, 30)
