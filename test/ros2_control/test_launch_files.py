# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The launch files of ros2_control, as the embedded launcher sees them."""

from pathlib import Path

import pytest

from vms_ph_embedded.launch import LaunchError, load

FILES = sorted((Path(__file__).parents[2] / "launch").glob("*ros2_control.launch.xml"))


@pytest.mark.parametrize("file", FILES, ids=lambda p: p.name)
def test_it_is_read_and_refused_in_a_sentence_where_there_is_no_ros(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    with pytest.raises(LaunchError, match="runs in a ROS 2 only: source one that has it"):
        load(file)
