# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Times, durations, clocks, and simulated time."""

import time

import pytest
from builtin_interfaces.msg import Duration as DurationMsg
from builtin_interfaces.msg import Time as TimeMsg
from rclpy.clock import Clock, ROSClock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration, Infinite
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMsg


def test_durations_are_counted_in_nanoseconds():
    assert Duration(seconds=1, nanoseconds=5).nanoseconds == 1_000_000_005
    assert Duration(seconds=-0.5) < Duration()
    assert Duration(seconds=1.5).to_msg() == DurationMsg(sec=1, nanosec=500_000_000)
    assert Duration.from_msg(DurationMsg(sec=2, nanosec=3)) == Duration(nanoseconds=2_000_000_003)
    assert str(Infinite) == "Infinite"
    assert repr(Duration(nanoseconds=3)) == "Duration(nanoseconds=3)"
    with pytest.raises(OverflowError):
        Duration(seconds=2**63)


def test_times_of_one_clock_can_be_compared_and_subtracted():
    one = Time(seconds=1, clock_type=ClockType.ROS_TIME)
    two = Time(seconds=2, nanoseconds=5, clock_type=ClockType.ROS_TIME)
    assert one < two
    assert one <= one
    assert two - one == Duration(seconds=1, nanoseconds=5)
    assert one + Duration(seconds=1, nanoseconds=5) == two
    assert two - Duration(seconds=1, nanoseconds=5) == one
    assert two.seconds_nanoseconds() == (2, 5)
    assert two.to_msg() == TimeMsg(sec=2, nanosec=5)
    assert Time.from_msg(TimeMsg(sec=2, nanosec=5)) == two
    with pytest.raises(TypeError, match="different clock types"):
        one < Time(seconds=1)  # noqa: B015
    with pytest.raises(TypeError, match="different clock types"):
        one - Time(seconds=1)
    with pytest.raises(ValueError, match="negative"):
        Time(seconds=-1)
    with pytest.raises(ValueError, match="negative"):
        one - Duration(seconds=2)
    with pytest.raises(OverflowError):
        Time(seconds=2**63)


def test_clocks_show_the_time_of_their_type():
    before = time.time_ns()
    assert before <= Clock().now().nanoseconds <= time.time_ns()
    assert Clock().now().clock_type == ClockType.SYSTEM_TIME
    steady = Clock(clock_type=ClockType.STEADY_TIME)
    assert steady.now() <= steady.now()
    assert isinstance(Clock(clock_type=ClockType.ROS_TIME), ROSClock)
    assert ROSClock().now().clock_type == ClockType.ROS_TIME
    assert not ROSClock().ros_time_is_active
    with pytest.raises(TypeError):
        Clock(clock_type="steady")


def test_a_node_can_live_in_simulated_time(ros):
    node = ros.node("sim", parameter_overrides=[Parameter("use_sim_time", value=True)])
    publisher = ros.node("world").create_publisher(ClockMsg, "/clock", 10)
    ticks = []
    assert node.get_clock().ros_time_is_active
    assert node.get_clock().now().nanoseconds == 0
    assert ros.spin_until(lambda: publisher.get_subscription_count() == 1)

    def show(seconds):
        publisher.publish(ClockMsg(clock=TimeMsg(sec=seconds)))
        wanted = Time(seconds=seconds, clock_type=ClockType.ROS_TIME)
        assert ros.spin_until(lambda: node.get_clock().now() == wanted)

    show(100)
    node.create_timer(10.0, lambda: ticks.append(node.get_clock().now().nanoseconds))
    ros.spin_for(0.1)
    show(109)
    ros.spin_for(0.05)
    assert ticks == []
    show(110)
    assert ros.spin_until(lambda: ticks)
    assert ticks == [110_000_000_000]


def test_simulated_time_can_be_switched_while_running(ros):
    node = ros.node()
    clock = node.get_clock()
    assert not clock.ros_time_is_active
    assert node.set_parameters([Parameter("use_sim_time", value=True)])[0].successful
    assert clock.ros_time_is_active
    assert node.set_parameters([Parameter("use_sim_time", value=False)])[0].successful
    assert not clock.ros_time_is_active
    assert not node.set_parameters([Parameter("use_sim_time", value="yes")])[0].successful
