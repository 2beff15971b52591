"""What a node says of messages it cannot use, and how often."""

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


def test_a_repeated_mistake_is_told_once_and_another_kind_at_once(
    node: Node, capfd: pytest.CaptureFixture[str]
) -> None:
    refusals = InputDiagnostics(node)
    for _ in range(100):
        refusals.say("effort must be finite")
    refusals.say("given: frame_id 'moon'")
    said = capfd.readouterr().err
    assert said.count("ignored: effort must be finite") == 1
    assert said.count("ignored: given: frame_id 'moon'") == 1
