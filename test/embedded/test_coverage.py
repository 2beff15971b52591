# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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
