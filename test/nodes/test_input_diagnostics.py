# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Warnings about messages that a node cannot use, and how often they are repeated."""

from collections.abc import Iterator

import pytest
import rclpy
from rclpy.node import Node

from vms_ph_nodes.node.health import InputDiagnostics


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
