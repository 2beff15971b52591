# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Valid messages: such as may come, and with values that their types allow and nobody sends."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

from sensor_msgs.msg import JointState

from vms_ph_embedded.interfaces.fields import ListField, NumericSequenceField
from vms_ph_nodes.messages.conversions import to_stamp

_NUMBERS = (
    0.0, -0.0, 1.0, -1.5, 1e-320, 1e-9, 1e3, 1e6, 1e9, 1.1e9, 1e30, 1e155, 1e300, -1e308,
    float("nan"), float("inf"), -float("inf"),
)  # fmt: skip
_TEXTS = (
    "", "\N{SUPERSCRIPT TWO}", "9" * 5000, "-0", "1e400", "nan", "abc", "\0", "\n", "%s%n",
    "a=b;c=d", "x" * 20_000, "<img src=x onerror=alert(1)>", "../../etc/passwd", "${HOME}",
    "\N{ZERO WIDTH SPACE}", "\N{RIGHT-TO-LEFT OVERRIDE}abc", "world", "odom", "robot",
    "robot from", "reported by", "stopped", "simulator: vms_ph node", "controller: vms_ph node",
    "x: vms_ph node", ": vms_ph node", "real time factor", "paused",
)  # fmt: skip


@dataclass(frozen=True)
class Robot:
    """Names of the joints, their positions, and frames that messages may have."""

    names: tuple[str, ...]
    home: tuple[float, ...]
    frames: tuple[str, ...]


def hostile(rng: random.Random, robot: Robot, kind: Any) -> Any:
    """Return a message of a type with up to five values that nobody sends."""
    message = plausible(rng, robot, kind)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 5))):
        spoil(rng, message)
    return message


def plausible(rng: random.Random, robot: Robot, kind: Any, depth: int = 4) -> Any:
    """Return a message as it may come."""
    message = kind()
    for field in kind.__fields__:
        value = getattr(message, field.name)
        if field.name == "stamp":
            value = to_stamp(time.time_ns() - rng.choice((0, 0, 10**6)))
        elif field.name in ("frame_id", "child_frame_id"):
            value = rng.choice(robot.frames)
        elif field.name == "w" and kind.__name__ == "Quaternion":
            value = 1.0
        elif hasattr(value, "__fields__"):
            value = plausible(rng, robot, type(value), depth - 1)
        elif isinstance(field, ListField) and not field.is_array and depth > 0:
            make = field.element.python_type
            value = [
                plausible(rng, robot, make, depth - 1) if hasattr(make, "__fields__") else make()
                for _ in range(rng.randrange(3))
            ]
        elif isinstance(value, float):
            value = rng.uniform(-0.1, 0.1) if kind.__name__ != "Quaternion" else 0.0
        setattr(message, field.name, value)
    if isinstance(message, JointState):
        _fill_joints(rng, robot, message)
    return message


def _fill_joints(rng: random.Random, robot: Robot, message: JointState) -> None:
    names = robot.names
    if rng.random() < 0.3:
        names = rng.choice((names[:1], names[1:], names[::-1], [*names, "finger"], ["finger"]))
    at = dict(zip(robot.names, robot.home, strict=True))
    message.name = list(names)
    message.position = [at.get(name, 0.0) + rng.uniform(-1e-3, 1e-3) for name in names]
    message.velocity = [rng.uniform(-0.1, 0.1) for _ in names]
    message.effort = [rng.uniform(-5.0, 5.0) for _ in names]


def spoil(rng: random.Random, message: Any) -> None:
    """Give one field of a message, or of one within it, a value that its type allows."""
    field = rng.choice(type(message).__fields__)
    value = getattr(message, field.name)
    if hasattr(value, "__fields__"):
        spoil(rng, value)
        return
    if isinstance(field, ListField) and len(value):
        k = rng.randrange(len(value))
        if hasattr(value[k], "__fields__") and rng.random() < 0.8:
            spoil(rng, value[k])
            return
    for _ in range(10):
        try:
            setattr(message, field.name, _hostile(rng, field, value))
            return
        except (AssertionError, ValueError, TypeError, OverflowError):
            continue  # no value of this type


def _hostile(rng: random.Random, field: Any, value: Any) -> Any:
    if isinstance(value, str):
        return rng.choice(_TEXTS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return rng.choice(_NUMBERS)
    if isinstance(value, int):
        return rng.choice((0, 1, -1, 127, 255, 10**9, 2**31 - 1, -(2**31), 2**32 - 1))
    if isinstance(value, bytes):
        return rng.choice((b"\0", b"\1", b"\2", b"\3", b"\xff"))
    items = list(value)
    how = rng.randrange(5)
    if how == 0 and not getattr(field, "is_array", False):
        return []
    if how == 1:
        return items + items
    if how == 2 and items:
        return items[:-1]
    if how == 3 and items:
        return items + items[:1]
    if isinstance(field, NumericSequenceField) or (items and isinstance(items[0], (float, str))):
        texts = bool(items) and isinstance(items[0], str)
        pool: tuple[Any, ...] = _TEXTS if texts else _NUMBERS
        k = rng.randrange(len(items) + 1)
        items[k : k + 1] = [rng.choice(pool)]
    return items
