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

"""Warnings about messages that a node cannot use, and how often they are repeated."""

from collections.abc import Iterator

import pytest
import rclpy
from rclpy.node import Node

from vms_ph_nodes.node.input_diagnostics import InputDiagnostics


@pytest.fixture
def node() -> Iterator[Node]:
    rclpy.init()
    node = Node("listener")
    yield node
    node.destroy_node()
    rclpy.shutdown()


def test_a_repeated_reason_is_logged_once_and_a_different_one_at_once(
    node: Node, capfd: pytest.CaptureFixture[str]
) -> None:
    diagnostics = InputDiagnostics(node)
    for _ in range(100):
        diagnostics.report("effort must be finite")
    diagnostics.report("given: frame_id 'moon'")
    logged = capfd.readouterr().err
    assert logged.count("ignored: effort must be finite") == 1
    assert logged.count("ignored: given: frame_id 'moon'") == 1
