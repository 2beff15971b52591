# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The launch files of ros2_control, as the embedded launcher sees them."""

import html
import re
import shlex
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


def test_a_robot_with_arguments_of_xacro_stays_one_word() -> None:
    commands = [
        command.replace("$(var robot)", "FILE hand:=false")
        for file in FILES[0].parent.glob("*.xml")
        for command in re.findall(r"\$\(command '([^']*)'", html.unescape(file.read_text()))
        if "$(var robot)" in command
    ]
    assert len(commands) > 3
    for command in commands:
        assert "hand:=false" not in shlex.split(command), command
