# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recorder that has not run for a time."""

import time
from pathlib import Path

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus

pytest.importorskip("mcap")

from vms_ph_io.bag import BagWriter
from vms_ph_nodes.bag_recorder import BagRecorder

pytestmark = pytest.mark.wire


def test_a_recorder_that_stood_still_says_that_the_bag_has_a_hole(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rclpy.init(args=["--ros-args", "-p", f"bag:={tmp_path / 'bag'}"], domain_id=77)
    recorder = BagRecorder()
    try:
        recorder._find_topics()
        assert "holes" not in recorder._health._own_report[2]
        time.sleep(1.1)
        recorder._find_topics()
        recorder._count = 1
        recorder._find_topics()
        level, message, values = recorder._health._own_report
    finally:
        recorder.destroy_node()
        rclpy.shutdown()
    assert level == DiagnosticStatus.WARN
    assert message.startswith("recording, with holes of 1.")
    assert str(values["holes"]).startswith("1, of 1.")
    told = capfd.readouterr().err
    assert told.count("the recorder stood still for 1.") == 1
    assert "messages of that time may be missing" in told


def test_a_recording_goes_on_in_a_new_folder_whatever_a_kill_and_later_runs_have_left(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # It was killed before it had written metadata, and the run after it was completed.
    (tmp_path / "bag").mkdir()
    (tmp_path / "bag/bag_0.mcap").touch()
    BagWriter(tmp_path / "bag_2").close()
    rclpy.init(args=["--ros-args", "-p", f"bag:={tmp_path / 'bag'}"], domain_id=77)
    try:
        BagRecorder().destroy_node()
    finally:
        rclpy.shutdown()
    assert "bag was interrupted; it goes on in" in capfd.readouterr().err
    assert (tmp_path / "bag_3/metadata.yaml").exists()


def test_a_recorder_in_slow_simulated_time_goes_by_the_clock_of_the_machine(tmp_path: Path) -> None:
    words = ["--ros-args", "-p", f"bag:={tmp_path / 'bag'}", "-p", "use_sim_time:=true"]
    rclpy.init(args=words, domain_id=77)
    recorder, end = BagRecorder(), time.monotonic() + 30.0
    ran = recorder._last_run_time
    try:
        while recorder._last_run_time == ran:  # no simulated time passes
            rclpy.spin_once(recorder, timeout_sec=0.1)
            assert time.monotonic() < end, "the recorder waits for simulated time"
    finally:
        recorder.destroy_node()
        rclpy.shutdown()
