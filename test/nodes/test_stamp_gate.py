# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Stamps of messages that are new, and of those that are not."""

import re

import pytest

from vms_ph_nodes.messages.conversions import NS_PER_SEC
from vms_ph_nodes.messages.stamps import StampGate

NOW = 1_700_000_000 * NS_PER_SEC
MS = NS_PER_SEC // 1000
HOUR = 3600 * NS_PER_SEC


def _running(age: float = 10.0) -> StampGate:
    gate = StampGate(age)
    for k in range(5):
        assert gate.check(NOW + k * MS, NOW + k * MS) == ""
    return gate


@pytest.mark.parametrize(
    ("shift", "problem"),
    [
        (4 * MS, "repeats the last stamp"),
        (2 * MS, "is 0.002 s older than the last one"),
        (-HOUR, r"is 3.6e\+03 s older than the last one"),
        (HOUR, r"is 3.6e\+03 s newer than the one before and the clock let expect"),
    ],
)
def test_a_stamp_that_is_not_the_next_one_is_refused_and_its_successor_accepted(
    shift: int, problem: str
) -> None:
    gate = _running()
    assert re.fullmatch(problem, gate.check(NOW + shift, NOW + 5 * MS))
    assert gate.check(NOW + 6 * MS, NOW + 6 * MS) == ""


def test_old_messages_between_new_ones_never_pass() -> None:
    gate = _running()
    for k in range(6, 60):
        assert gate.check(NOW - HOUR + k * MS, NOW + k * MS) != ""
        assert gate.check(NOW + k * MS, NOW + k * MS) == ""


def test_a_recording_is_not_taken_for_the_robot() -> None:
    gate = StampGate(10.0)
    for k in range(100):
        assert gate.check(NOW - HOUR + k * MS, NOW + k * MS).endswith("older than the clock")
    after = _running()
    for k in range(10, 100):
        assert "older than the last one" in after.check(NOW - HOUR + k * MS, NOW + k * MS)


@pytest.mark.parametrize("shift", [HOUR, 30 * NS_PER_SEC])
def test_a_clock_set_forwards_is_believed_after_five_messages(shift: int) -> None:
    gate = _running()
    refused = [gate.check(NOW + shift + k * MS, NOW + k * MS) for k in range(5, 20)]
    assert [bool(problem) for problem in refused] == [True] * 4 + [False] * 11


def test_stamps_go_back_with_the_clock_of_the_node_and_not_without() -> None:
    gate = _running()
    assert not any(gate.check(NOW - HOUR + k * MS, NOW - HOUR + k * MS) for k in range(5, 20))
    again = _running()
    assert "older than the clock" in again.check(NOW - HOUR, NOW - 20 * NS_PER_SEC)
    assert "older than the last one" in again.check(NOW - HOUR, NOW + 5 * MS)


def test_a_paused_simulation_is_believed_after_five_messages() -> None:
    gate = _running()
    later = NOW + 60 * NS_PER_SEC
    refused = [gate.check(NOW + k * MS, later + k * MS) for k in range(5, 20)]
    assert [bool(problem) for problem in refused] == [True] * 4 + [False] * 11


def test_a_slow_simulation_may_fall_behind_the_clock() -> None:
    gate = StampGate(10.0)
    assert not any(gate.check(NOW + k * MS, NOW + 10 * k * MS) for k in range(20_000))


def test_without_a_largest_age_only_the_order_counts() -> None:
    gate = StampGate(0.0)
    assert gate.check(NOW - HOUR, NOW) == ""
    assert gate.check(NOW + HOUR, NOW) == ""
    assert gate.check(NOW + HOUR, NOW + 1) == "repeats the last stamp"
