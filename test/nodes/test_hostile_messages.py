# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Valid messages with hostile values, and values that a browser never sends, end no page."""

import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from vms_ph.msg import Power

from vms_ph_dynamics import StateError
from vms_ph_io import robots

pytest.importorskip("viser")
from vms_ph_nodes.node.health import SPEED_KEY, refused_messages
from vms_ph_nodes.views.commands import PullEfforts
from vms_ph_nodes.web_viewer import WebViewer

from .test_page_server import _free

pytestmark = pytest.mark.wire

_NUMBERS = (0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e300, -1e300, 1e-320,
            1e9, 3.4e38)  # fmt: skip
_USUAL = (0.0, 1.0, -0.5)
_TEXTS = ("", "abc", "panda_link3", "world", "/", "a/b", "\x00", "é" * 300, "<b>", "nan", "²",
          "9" * 5000, "robot from", "centre of mass", "power x", "kinetic energy", "battery",
          "winding", "paused", "no ")  # fmt: skip


@pytest.fixture(scope="module")
def viewer() -> Iterator[WebViewer]:
    rclpy.init(args=["--ros-args", "-p", "robot:=panda", "-p", f"port:={_free()}"], domain_id=84)
    made = WebViewer()
    made._on_description(String(data=robots.get("panda").description()))
    made._server.get_clients = lambda: {0: None}  # somebody looks
    made._draw_robot()
    yield made
    made.destroy_node()
    rclpy.try_shutdown()


def test_another_robot_takes_the_place_of_the_first(
    viewer: WebViewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer._server, "get_clients", dict)  # none whose camera is turned
    panda = robots.get("panda").description()
    drawn = viewer._server.scene._handle_from_node_name
    before = {name for name in drawn if name.startswith("/world/robot")}
    shapeless = re.sub("<visual.*?</visual>", "", panda, flags=re.DOTALL)
    viewer._on_description(String(data=shapeless))
    assert len([name for name in drawn if name.startswith("/world/robot")]) < len(before)
    viewer._on_description(String(data=panda))
    assert {name for name in drawn if name.startswith("/world/robot")} == before


class _Hostile:
    """Makes messages of a few numbers and texts, with values of their types."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._numbers = rng.choice((_NUMBERS, _USUAL))
        known = rng.choice(((), ("simulator: vms_ph node", SPEED_KEY)))
        self._texts = (*rng.choices(_TEXTS, k=2), *known)

    def message(self, kind: type) -> Any:
        """Return a message of this kind."""
        message: Any = kind()
        for name, what in message.get_fields_and_field_types().items():
            base = what.partition("[")[0].removeprefix("sequence<").rstrip(">")
            present = getattr(message, name)
            if base == what:
                if "/" in base or self._rng.random() < 0.8:
                    setattr(message, name, self._value(base))
                continue
            length = len(present) or self._rng.randint(0, 3)
            values = [self._value(base) for _ in range(length)]
            is_fixed = isinstance(present, np.ndarray)
            setattr(message, name, np.array(values, present.dtype) if is_fixed else values)
        return message

    def _value(self, base: str) -> Any:
        choice = self._rng.choice
        if "/" in base:
            package, _, kind = base.partition("/")
            module = __import__(f"{package}.msg", fromlist=[kind])
            return self.message(getattr(module, kind.rpartition("/")[2]))
        if base in ("double", "float"):
            return choice([x for x in self._numbers if base == "double" or abs(x) != 1e300])
        if "string" in base:
            return choice(self._texts)
        if base == "boolean":
            return choice((True, False))
        if base == "octet":
            return bytes([self._rng.randrange(4)])
        sign, bits = base.startswith("int"), int(base.lstrip("uint"))
        extremes = 2 ** (bits - sign) - 1, -(2 ** (bits - 1)) if sign else 0
        return choice((0, 0, 0, 1, 2, 3, 9, *extremes))


def _send(viewer: WebViewer, rng: random.Random) -> None:
    hostile = _Hostile(rng)
    for subscription in viewer.subscriptions:
        if not subscription.topic_name.endswith("robot_description"):  # it has faults of its own
            subscription.callback(hostile.message(subscription.msg_type))
    viewer._overview._flow_choice.value = rng.choice(viewer._overview._flow_choice.options)


@pytest.mark.parametrize("rounds", [80, pytest.param(5_000, marks=pytest.mark.slow)])
def test_no_valid_message_ends_a_page_or_stops_it_from_drawing(
    viewer: WebViewer, rounds: int
) -> None:
    rng = random.Random(7)
    refused = refused_messages(viewer)[0]
    for _ in range(rounds):
        _send(viewer, rng)
        viewer._draw_robot()
        viewer._draw_pictures()
    assert refused_messages(viewer)[0] == refused, refused_messages(viewer)


def test_plots_have_a_bounded_number_of_curves(viewer: WebViewer) -> None:
    names, refused = [f"a{k}" for k in range(3000)], refused_messages(viewer)[0]
    column = [0.0] * len(names)
    viewer._live_plots.on_joints(
        JointState(name=names, position=column, velocity=column, effort=column)
    )
    viewer._live_plots.on_power(Power(tool_names=names, tool_power=column))
    viewer._live_plots.draw()
    assert max(len(chart.plot.series) for chart in viewer._live_plots.charts) < 300
    assert refused_messages(viewer)[0] == refused


_BAD = (float("nan"), float("inf"), -float("inf"), 1e300)


@pytest.mark.parametrize("seconds", [*_BAD, 0.0, -1.0, 60.1])
def test_a_push_acts_for_a_time_that_there_is(viewer: WebViewer, seconds: float) -> None:
    assert viewer._commands is not None
    with pytest.raises(StateError, match="a push acts for up to 60 s; given"):
        viewer._commands.push("", (1.0, 0.0, 0.0), seconds)
    viewer._draw_robot()
    assert not viewer._commands._pushes


@pytest.mark.parametrize("number", _BAD)
def test_no_number_that_is_none_is_sent_as_a_push_a_pull_or_a_reference(
    viewer: WebViewer, number: float
) -> None:
    commands, sent = viewer._commands, list[Any]()
    assert commands is not None
    senders = [*commands._publishers.values(), commands._torque_publisher, commands._pose_publisher]
    original = [publisher.publish for publisher in senders]
    for publisher in senders:
        publisher.publish = sent.append  # type: ignore[method-assign,assignment]
    try:
        with pytest.raises(StateError, match="the force of a push must be finite"):
            commands.push("", (number, 0.0, 0.0), 0.1)
        for position, wxyz in (((number, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
                               ((0.0, 0.0, 0.0), (number, 0.0, 0.0, 0.0)),
                               ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))):  # fmt: skip
            with pytest.raises(StateError):
                commands.set_reference_pose(position, wxyz, "world")
        for torques, base in (({"panda_joint1": number}, None), ({}, np.full(6, number))):
            commands.pull(lambda torques=torques, base=base: PullEfforts(torques, base))  # type: ignore[misc]
            viewer._draw_robot()
        commands.pull(None)
        viewer._draw_robot()
    finally:
        for publisher, publish in zip(senders, original, strict=True):
            publisher.publish = publish  # type: ignore[method-assign]
    assert not sent


def test_an_error_of_a_command_is_told_and_the_next_one_is_sent(viewer: WebViewer) -> None:
    assert viewer._commands is not None
    done, refused = list[int](), refused_messages(viewer)[0]
    viewer._commands._queue.put(lambda: 1 // 0)  # type: ignore[arg-type,return-value]
    viewer._commands._queue.put(lambda: done.append(1))
    viewer._draw_robot()
    assert done == [1]
    number, why = refused_messages(viewer)
    assert number == refused + 1
    assert "a command of the page: ZeroDivisionError" in why
