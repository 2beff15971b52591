# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Services and clients."""

import threading
import time
from functools import partial

import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger


def echo(request, response):
    response.success = request.data
    response.message = f"got {request.data}"
    return response


def test_a_request_is_answered(ros):
    server, asker = ros.node("server"), ros.node("asker")
    server.create_service(SetBool, "s", echo)
    client = asker.create_client(SetBool, "s")
    assert client.wait_for_service(timeout_sec=10.0)
    assert client.service_is_ready()
    future = client.call_async(SetBool.Request(data=True))
    assert not future.done()
    assert ros.result(future) == SetBool.Response(success=True, message="got True")
    assert future.done()


def test_every_client_gets_its_own_answers(ros):
    node = ros.node()
    node.create_service(SetBool, "s", echo)
    clients = [ros.node(f"asker{i}").create_client(SetBool, "s") for i in range(3)]
    assert all(client.wait_for_service(timeout_sec=10.0) for client in clients)
    # No more at once than the history of the service keeps.
    requests = [SetBool.Request(data=bool(i % 2)) for i in range(3)]
    futures = [(r, c.call_async(r)) for r in requests for c in clients]
    for request, future in futures:
        assert ros.result(future).success == request.data


def test_a_request_without_fields_is_answered(ros):
    node = ros.node()

    def answer(request, response):
        assert request == Trigger.Request()
        return Trigger.Response(success=True, message="done")

    node.create_service(Trigger, "t", answer)
    client = node.create_client(Trigger, "t")
    assert client.wait_for_service(timeout_sec=10.0)
    assert ros.result(client.call_async(Trigger.Request())).message == "done"


def test_waiting_for_a_service_ends_when_it_appears_or_the_time_is_over(ros):
    node = ros.node()
    client = node.create_client(Trigger, "later")
    assert not client.service_is_ready()
    started = time.monotonic()
    assert not client.wait_for_service(timeout_sec=0.2)
    assert 0.15 < time.monotonic() - started < 5.0
    timer = threading.Timer(0.1, lambda: ros.node("server").create_service(Trigger, "later", echo))
    timer.start()
    assert client.wait_for_service(timeout_sec=10.0)
    timer.join()


def test_a_client_can_block_while_another_thread_spins(ros, release):
    node = ros.node()
    node.create_service(SetBool, "s", echo)
    client = node.create_client(SetBool, "s")
    assert client.wait_for_service(timeout_sec=10.0)
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(client.call(SetBool.Request(data=True), timeout_sec=10.0))
    )
    thread.start()
    assert ros.spin_until(lambda: answers)
    thread.join()
    assert answers[0].message == "got True"
    unanswered = partial(client.call, SetBool.Request(data=True), timeout_sec=0.05)  # no one spins
    if release == "kilted":
        with pytest.raises(TimeoutError):
            unanswered()
    else:
        assert unanswered() is None


def test_a_callback_can_wait_for_another_service(ros):
    node = ros.node()
    group = ReentrantCallbackGroup()
    inner = node.create_client(SetBool, "inner", callback_group=group)
    node.create_service(SetBool, "inner", echo, callback_group=group)

    async def outer(request, response):
        answer = await inner.call_async(SetBool.Request(data=True))
        response.message = f"outer: {answer.message}"
        return response

    node.create_service(Trigger, "outer", outer, callback_group=group)
    client = node.create_client(Trigger, "outer", callback_group=group)
    assert inner.wait_for_service(timeout_sec=10.0)
    assert client.wait_for_service(timeout_sec=10.0)
    assert ros.result(client.call_async(Trigger.Request())).message == "outer: got True"


def test_a_request_must_have_the_type_of_the_service(ros):
    client = ros.node().create_client(SetBool, "s")
    with pytest.raises(TypeError):
        client.call_async(Trigger.Request())
    with pytest.raises(RuntimeError, match="not valid"):
        ros.node("other").create_service(String, "s", echo)


def test_a_removed_request_gets_no_answer(ros):
    node = ros.node()
    node.create_service(SetBool, "s", echo)
    client = node.create_client(SetBool, "s")
    assert client.wait_for_service(timeout_sec=10.0)
    forgotten = client.call_async(SetBool.Request(data=True))
    client.remove_pending_request(forgotten)
    assert ros.result(client.call_async(SetBool.Request(data=True))).success
    assert not forgotten.done()


def test_a_destroyed_service_answers_no_more(ros):
    node = ros.node()
    service = node.create_service(SetBool, "s", echo)
    client = node.create_client(SetBool, "s")
    assert client.wait_for_service(timeout_sec=10.0)
    assert node.destroy_service(service)
    assert ros.spin_until(lambda: not client.service_is_ready())
    assert node.destroy_client(client)
    with pytest.raises(InvalidHandle):
        client.call_async(SetBool.Request())
