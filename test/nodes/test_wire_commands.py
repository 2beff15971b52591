# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of commands that communicate with running nodes."""

import socket
import time
from collections.abc import Iterator

import pytest

from .conftest import Program, Start

pytestmark = pytest.mark.wire


@pytest.fixture(scope="module")
def server(start: Start) -> Iterator[Program]:
    program = start("run", "simulator", "--ros-args", "-p", "rate:=20.0")
    _await_topic(start, "/joint_states")
    yield program
    program.close()


def _await_topic(start: Start, name: str) -> None:
    end = time.monotonic() + 60.0
    while start("topic", "echo", "--once", name).wait(30):
        assert time.monotonic() < end, f"{name} was not discovered"


def _refused(start: Start, *words: str, **environment: str) -> str:
    program = start(*words, **environment)
    assert program.wait(30) == 1
    assert "Traceback" not in program.output
    return program.output


def test_an_invalid_topic_name_is_rejected(start: Start) -> None:
    told = _refused(start, "topic", "pub", "--once", "bad name", "std_msgs/msg/Empty")
    assert "error: Invalid topic name" in told
    told = _refused(start, "bag", "record", "bad name")
    assert "error: Invalid topic name" in told
    assert "error: Invalid service name" in _refused(start, "service", "call", "bad name")


def test_a_missing_parameter_file_is_reported(start: Start) -> None:
    told = _refused(start, "run", "simulator", "--ros-args", "--params-file", "nowhere.yaml")
    assert "error: " in told
    assert "'nowhere.yaml'" in told


@pytest.mark.parametrize("command", [("topic", "list"), ("demo", "--headless")])
def test_an_invalid_domain_is_rejected(start: Start, command: tuple[str, ...]) -> None:
    told = _refused(start, *command, ROS_DOMAIN_ID="999")
    assert told.startswith("error: ROS_DOMAIN_ID='999' is not a domain")


def test_a_topic_is_found_without_its_slash(server: Program, start: Start) -> None:
    echo = start("topic", "echo", "--once", "joint_states")
    assert echo.wait(30) == 0
    assert "panda_joint1" in echo.output


def test_a_published_message_must_have_the_type_of_the_topic(server: Program, start: Start) -> None:
    told = _refused(
        start, "topic", "pub", "--once", "/simulator/wrench_end_effector", "std_msgs/msg/Empty"
    )
    assert (
        "the type of /simulator/wrench_end_effector is geometry_msgs/msg/WrenchStamped, not" in told
    )
    assert "incompatible" not in server.output


def test_a_service_call_must_have_the_type_of_the_service(server: Program, start: Start) -> None:
    told = _refused(start, "service", "call", "/simulator/reset", "std_srvs/srv/SetBool")
    assert (
        told
        == "error: the type of /simulator/reset is std_srvs/srv/Trigger, not std_srvs/srv/SetBool\n"
    )


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("topic", "echo", "--once", "/joint_state"), "/joint_states"),
        (("node", "info", "/simulater"), "/simulator"),
        (("param", "get", "/simulator", "rat"), "rate"),
        (("param", "get", "/simulater", "rate"), "/simulator/list_parameters"),
    ],
)
def test_the_nearest_name_is_offered_for_a_mistyped_one(
    server: Program, start: Start, words: tuple[str, ...], meant: str
) -> None:
    assert f"(did you mean '{meant}'?)" in _refused(start, *words)


def test_a_number_may_be_written_with_an_exponent(start: Start) -> None:
    program = start("run", "closed_loop", "--ros-args", "-r", "__ns:=/exponent")
    _await_topic(start, "/exponent/controller/state")
    given = start("param", "set", "/exponent/controller", "stiffness", "1e2")
    assert given.wait(30) == 0, given.output
    assert given.output == "stiffness = 100.0\n"
    told = _refused(start, "param", "set", "/exponent/controller", "stiffness", "nan")
    assert "stiffness out of range" in told
    assert program.interrupt() == 0


def test_a_dropped_browser_connection_prints_nothing_in_the_terminal(start: Start) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    page = start("run", "web_viewer", "--ros-args", "-p", f"port:={port}")
    page.await_output(f"web page at http://127.0.0.1:{port}/")
    for said in (b"", b"GET / HT"):
        with socket.create_connection(("127.0.0.1", port), timeout=10.0) as browser:
            browser.sendall(said)
            browser.shutdown(socket.SHUT_WR)
            browser.settimeout(20.0)
            while browser.recv(4096):
                pass
    assert page.interrupt() == 0
    assert "Traceback" not in page.output
