# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Executors, callback groups, tasks and futures."""

import threading
import time

import pytest
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import (
    ExternalShutdownException,
    SingleThreadedExecutor,
)
from rclpy.task import Future


def test_one_call_at_a_time(ros):
    node, calls = ros.node(), []
    for i in range(3):
        node.create_timer(0.01, lambda i=i: calls.append(i))
    time.sleep(0.02)  # so that all are due
    for count in (1, 2, 3):
        ros.executor.spin_once(timeout_sec=1.0)
        assert len(calls) == count
    assert sorted(calls) == [0, 1, 2]


def test_spinning_once_ends_when_the_time_is_over(ros):
    ros.node()
    ros.executor.spin_once(timeout_sec=0)
    started = time.monotonic()
    ros.executor.spin_once(timeout_sec=0.1)
    # Discovery of our own endpoints may have ended the first wait early.
    ros.executor.spin_once(timeout_sec=0.1)
    assert 0.05 < time.monotonic() - started < 5.0


def test_an_executor_serves_the_nodes_it_was_given(ros):
    node, calls = ros.node(), []
    assert node.executor is ros.executor
    assert not ros.executor.add_node(node)
    assert ros.executor.get_nodes() == [node]
    node.create_timer(0.01, lambda: calls.append(1))
    ros.executor.remove_node(node)
    ros.spin_for(0.05)
    assert calls == []
    other = SingleThreadedExecutor()
    other.add_node(node)
    other.spin_once(timeout_sec=5.0)
    assert calls == [1]
    other.shutdown()


def test_an_exception_in_a_callback_ends_the_spinning(ros):
    def fail():
        raise ZeroDivisionError("in a callback")

    node = ros.node()
    node.create_timer(0.01, fail)
    with pytest.raises(ZeroDivisionError, match="in a callback"):
        ros.spin_for(5.0)


def test_module_functions_spin_a_node(ros):
    node, calls = ros.node(), []
    ros.executor.remove_node(node)
    node.create_timer(0.01, lambda: calls.append(1))
    rclpy.spin_once(node, timeout_sec=5.0)
    assert calls == [1]
    future = Future()
    node.create_timer(0.05, lambda: future.set_result("done"))
    rclpy.spin_until_future_complete(node, future, timeout_sec=10.0)
    assert future.result() == "done"
    never = Future()
    rclpy.spin_until_future_complete(node, never, timeout_sec=0.1)
    assert not never.done()


def test_spinning_ends_with_the_context(ros):
    node = ros.node()
    ros.executor.remove_node(node)
    node.create_timer(0.02, rclpy.shutdown)
    rclpy.spin(node)
    assert not rclpy.ok()


def test_a_shutdown_elsewhere_interrupts_the_spinning(ros):
    timer = threading.Timer(0.1, rclpy.shutdown)
    timer.start()
    with pytest.raises(ExternalShutdownException):
        ros.spin_for(20.0)
    timer.join()


def test_a_task_runs_in_the_executor(ros):
    ros.node()

    async def later(future):
        return 1 + await future

    awaited = Future()
    simple = ros.executor.create_task(lambda a, b: a + b, 1, b=2)
    waiting = ros.executor.create_task(later, awaited)
    assert ros.spin_until(simple.done)
    assert simple.result() == 3
    ros.spin_for(0.05)
    assert not waiting.done()
    awaited.set_result(41)
    assert ros.spin_until(waiting.done)
    assert waiting.result() == 42


def test_a_coroutine_callback_gives_way_while_it_waits(ros):
    node, order = ros.node(), []
    group = ReentrantCallbackGroup()
    future = Future()

    async def waits():
        first.cancel()
        order.append("begin")
        await future
        order.append("end")

    def other():
        second.cancel()
        order.append("other")
        future.set_result(None)

    first = node.create_timer(0.01, waits, callback_group=group)
    second = node.create_timer(0.05, other, callback_group=group)
    assert ros.spin_until(lambda: len(order) == 3)
    assert order == ["begin", "other", "end"]


def test_a_task_that_never_waits_lets_others_have_their_turn(ros):
    class Soon:
        def __await__(self):
            yield

    async def busy():
        while len(ticks) < 3:
            await Soon()

    ticks = []
    ros.node().create_timer(0.01, lambda: ticks.append(1))
    task = ros.executor.create_task(busy)
    assert ros.spin_until(task.done)


def test_a_callback_can_shut_its_executor_down(ros):
    node, calls = ros.node(), []
    ros.executor.remove_node(node)
    executor = SingleThreadedExecutor()

    def stop():
        calls.append(1)
        executor.shutdown(timeout_sec=5.0)

    node.create_timer(0.01, stop)
    executor.add_node(node)
    executor.spin()
    assert calls


def test_a_future_calls_back_when_it_is_done():
    future, called = Future(), []
    future.add_done_callback(lambda f: called.append(f.result()))
    assert not future.done()
    future.set_result(1)
    future.add_done_callback(lambda f: called.append(f.result() + 1))
    assert called == [1, 2]
    assert future.done()
    failed = Future()
    failed.set_exception(ValueError("no"))
    assert isinstance(failed.exception(), ValueError)
    with pytest.raises(ValueError, match="no"):
        failed.result()
    cancelled = Future()
    cancelled.cancel()
    assert cancelled.cancelled()


def test_entities_made_while_spinning_are_served(ros):
    node, calls = ros.node(), []

    def make():
        first.cancel()
        node.create_timer(0.01, lambda: calls.append(1))

    first = node.create_timer(0.01, make)
    assert ros.spin_until(lambda: calls)
