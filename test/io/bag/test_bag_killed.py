# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recorders that are killed or run out of disk space, and their memory."""

import mmap
import os
import signal
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from bag_samples import START, abandon, read
from rosbags.rosbag2 import Reader

from vms_ph_io.bag import BagWriter, MessageTypes, bag_info, recover

# Writes its progress to shared memory after each call, which survives kill -9.
RECORDER = """
import mmap, struct, sys, time
from vms_ph_io.bag import BagWriter, MessageTypes
folder, progress = sys.argv[1:3]
with open(progress, "r+b") as file:
    shared = mmap.mmap(file.fileno(), 16)
types = MessageTypes()
writer = BagWriter(folder)
for name in ("/fast", "/slow"):
    writer.add_topic(name, types.definition("std_msgs/msg/Int64"))
number = 0
while True:
    topic = "/slow" if number % 1000 == 0 else "/fast"
    now = time.time_ns()
    writer.write(topic, b"\\0\\1\\0\\0" + struct.pack("<q", number), now)
    number += 1
    shared[:] = struct.pack("<qq", number, now)
    time.sleep(0.0005)
"""


def test_after_a_kill_at_most_a_second_is_missing_and_the_bag_can_be_repaired(
    tmp_path: Path,
) -> None:
    folder, progress = tmp_path / "recording", tmp_path / "progress"
    progress.write_bytes(bytes(16))
    recorder = subprocess.Popen([sys.executable, "-c", RECORDER, str(folder), str(progress)])
    with progress.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), 16)
    try:
        deadline = time.monotonic() + 30
        while struct.unpack("<qq", shared[:])[0] < 2500:
            assert recorder.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()
    count, last = struct.unpack("<qq", shared[:])

    info = bag_info(folder)
    assert not info.is_complete
    assert info.end_time is not None
    assert last - info.end_time < 1_000_000_000
    assert count - info.message_count < 2000  # a second of them

    before = read(folder)
    numbers = [message.decode().data for message in before]  # type: ignore[attr-defined]
    assert numbers == list(range(len(before)))
    repaired = recover(folder).path
    assert read(repaired) == before
    with Reader(repaired) as reader:
        assert reader.message_count == len(before)
        assert sum(1 for _ in reader.messages()) == len(before)


# A limit on the file size emulates a full disk: the write fails in the same way.
OUT_OF_ROOM = """
import resource, sys
from vms_ph_io.bag import BagError, BagWriter, MessageTypes
writer = BagWriter(sys.argv[1], flush_period=float(sys.argv[2]))
writer.add_topic("/t", MessageTypes().definition("std_msgs/msg/String"))
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
number = 0
try:
    while True:
        writer.write("/t", number.to_bytes(4, "little") * 64, 1 + number)
        number += 1
except BagError as error:
    print(error)
print(writer.message_count)
for call in (writer.flush, writer.close):
    try:
        call()
    except BagError as error:
        print(error)
"""


@pytest.mark.parametrize("flush_period", ["3600", "0.0005"])
def test_a_full_disk_stops_the_recording_and_keeps_the_recorded_messages(
    flush_period: str, tmp_path: Path
) -> None:
    folder = tmp_path / "recording"
    command = [sys.executable, "-c", OUT_OF_ROOM, str(folder), flush_period]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    first, count, *later = result.stdout.splitlines()
    assert first.startswith(f"cannot write to bag {folder}: File too large; recording has stopped")
    assert later == [first, first]
    messages = read(folder)
    assert len(messages) == int(count) > 500
    assert [m.data[:4] for m in messages] == [n.to_bytes(4, "little") for n in range(len(messages))]
    repaired = recover(folder).path
    assert read(repaired) == messages
    with Reader(repaired) as reader:
        assert reader.message_count == len(messages)


def test_a_recovery_without_disk_space_changes_nothing(tmp_path: Path, types: MessageTypes) -> None:
    folder = tmp_path / "recording"
    writer = BagWriter(folder, flush_period=3600)
    writer.add_topic("/t", types.definition("std_msgs/msg/String"))
    for number in range(1000):
        writer.write("/t", bytes(300), START + number)
    writer.flush()
    abandon(writer)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    program = """
import resource, sys
from vms_ph_io.bag import BagError, recover
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for output in (None, sys.argv[1] + "_new"):
    try:
        recover(sys.argv[1], output)
    except BagError as error:
        print(error)
"""
    command = [sys.executable, "-c", program, str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("the bag is unchanged") == 2
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert os.listdir(tmp_path) == ["recording"]


@pytest.mark.parametrize("minutes", [3, pytest.param(15, marks=pytest.mark.slow)])
def test_a_quarter_of_an_hour_of_recording_takes_two_megabytes_of_memory(
    minutes: int, folder: Path, types: MessageTypes
) -> None:
    chunks, topics = 120 * minutes, 10  # two chunks a second
    writer = BagWriter(folder, flush_period=3600)
    for number in range(topics):
        writer.add_topic(f"/t{number}", types.definition("std_msgs/msg/Bool"))

    def record(count: int) -> None:
        for chunk in range(count):
            for number in range(topics):
                writer.write(f"/t{number}", b"\0\1\0\0\1", START + chunk)
            writer.flush()

    record(100)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    record(chunks)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    writer.close()
    assert (
        after - before < 2_000_000 * minutes / 15
    )  # the index of the chunks, which the end of the file needs
    assert bag_info(folder).message_count == topics * (chunks + 100)


def test_a_garbage_collected_writer_leaves_no_open_file(folder: Path, types: MessageTypes) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for number in range(3):
        with BagWriter(folder / str(number)) as writer:
            writer.add_topic("/t", types.definition("std_msgs/msg/Bool"))
    assert len(os.listdir("/proc/self/fd")) == before
