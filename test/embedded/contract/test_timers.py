# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Timers and rates."""

import time

import pytest
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import InvalidHandle


def test_a_timer_fires_at_its_period(ros):
    stamps = []
    ros.node().create_timer(0.05, lambda: stamps.append(time.monotonic()))
    started = time.monotonic()
    assert ros.spin_until(lambda: len(stamps) == 10)
    # Never early; how late depends on the machine, but lateness does not add up.
    assert stamps[0] - started > 0.045
    assert 0.4 < stamps[-1] - stamps[0] < 0.65


def test_a_slow_callback_does_not_shift_the_schedule(ros):
    period, stamps = 0.2, []

    def slow():
        stamps.append(time.monotonic())
        if len(stamps) == 1:
            time.sleep(1.5 * period)  # lets a period pass, and part of the next

    node = ros.node()
    started = time.monotonic()
    node.create_timer(period, slow)
    assert ros.spin_until(lambda: len(stamps) == 4)
    # The call that was due meanwhile comes late and once; then the old schedule goes on. A schedule
    # that had moved would be half a period behind.
    assert stamps[1] - stamps[0] == pytest.approx(1.5 * period, abs=0.3 * period)
    behind = [(stamp - started) % period for stamp in stamps[2:]]
    assert max(behind) < 0.3 * period
    assert 0.7 * period < stamps[3] - stamps[2] < 1.3 * period


def test_a_cancelled_timer_rests_until_it_is_reset(ros):
    calls = []
    timer = ros.node().create_timer(0.02, lambda: calls.append(timer.cancel()))
    assert not timer.is_canceled()
    assert ros.spin_until(lambda: calls)
    assert timer.is_canceled()
    ros.spin_for(0.1)
    assert len(calls) == 1
    timer.reset()
    assert not timer.is_canceled()
    assert ros.spin_until(lambda: len(calls) == 2)


def test_a_timer_may_wait_for_its_reset_to_start(ros):
    calls = []
    timer = ros.node().create_timer(0.01, lambda: calls.append(1), autostart=False)
    assert timer.is_canceled()
    ros.spin_for(0.05)
    assert calls == []
    timer.reset()
    assert ros.spin_until(lambda: calls)


def test_a_timer_knows_its_times(ros):
    timer = ros.node().create_timer(10.0, lambda: None)
    assert timer.timer_period_ns == 10_000_000_000
    assert not timer.is_ready()
    timer.timer_period_ns = 5_000_000
    assert timer.timer_period_ns == 5_000_000


def test_a_destroyed_timer_does_not_fire(ros):
    node, calls = ros.node(), []
    timer = node.create_timer(0.01, lambda: calls.append(1))
    assert node.destroy_timer(timer)
    ros.spin_for(0.05)
    assert calls == []
    with pytest.raises(InvalidHandle):
        timer.is_canceled()


def test_a_timer_can_go_by_a_steady_clock(ros):
    calls = []
    steady = Clock(clock_type=ClockType.STEADY_TIME)
    timer = ros.node().create_timer(0.01, lambda: calls.append(1), clock=steady)
    assert timer.clock is steady
    assert ros.spin_until(lambda: len(calls) == 3)
