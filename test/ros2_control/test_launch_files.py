# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The launch files of ros2_control, as the embedded launcher sees them."""

from pathlib import Path

import pytest

from vms_ph_embedded.launch import LaunchError, load
from vms_ph_nodes.cli.launch_files import find_share

FILES = sorted((Path(__file__).parents[2] / "launch").glob("*ros2_control.launch.xml"))


@pytest.mark.parametrize("file", FILES, ids=lambda p: p.name)
def test_it_is_read_and_refused_in_a_sentence_where_there_is_no_ros(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    with pytest.raises(LaunchError, match="runs in a ROS 2 only: source one that has it"):
        load(file, [], find_share=find_share)
