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

"""COVERAGE.md says what the code does."""

from vms_ph_embedded import coverage, subset
from vms_ph_embedded.rclpy_names import NAMES


def test_the_file_is_up_to_date():
    assert coverage.FILE.read_text(encoding="utf-8") == coverage.report(), (
        "run: python -m vms_ph_embedded.coverage"
    )


def test_what_is_there_is_not_called_missing():
    assert subset.lacking("rclpy.node.Node") >= {"add_waitable"}
    assert "create_publisher" not in subset.lacking("rclpy.node.Node")
    assert subset.lacking("rclpy.action") == set(NAMES["rclpy.action"].split())
    assert subset.lacking("nothing.like.this") == set()
