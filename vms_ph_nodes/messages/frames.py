# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names of frames: the inertial frame, and prefixes for several robots in one /tf."""

import re
from collections.abc import Sequence
from typing import Any

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_io.audits.energy_split import ODOM as ODOM

BASE_LINK = "base_link"
"""The frame of a robot's base by REP-105."""

WORLD = "world"
"""A frame_id that commands may use for the inertial frame of any robot."""


def with_prefix(prefix: str, frame: str) -> str:
    """Return the name of a frame in /tf, with the ``frame_prefix`` of robot_state_publisher."""
    return f"{prefix}{frame}"


def without_prefix(prefix: str, frame: str) -> str:
    """Return the name of a frame in the robot description."""
    return frame.removeprefix(prefix)


def accepted_frame(prefix: str, message: Any, frames: Sequence[str], subject: str = "") -> str:
    """Return the frame of a message without its prefix; an empty one is accepted, too.

    Raises:
        StateError: it is none of ``frames``; the sentence begins with ``subject``.
    """
    frame = without_prefix(prefix, message.header.frame_id)
    if frame not in ("", *frames):
        raise StateError(
            f"{subject}must have the frame {' or '.join(frames)}; given: frame_id "
            f"'{message.header.frame_id}'"
        )
    return frame


def tool_topic(frame: str) -> str:
    """Return the last part of a tool's topics: its frame with what no topic may have as ``_``."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", frame)
    return f"_{name}" if name[:1].isdigit() else name


def topic_parts(names: Sequence[str]) -> dict[str, str]:
    """Return the last part of a topic for each of several names, all different."""
    parts: dict[str, str] = {}
    for name in names:
        part = tool_topic(name)
        parts[name] = part if part not in parts.values() else f"{part}_{len(parts) + 1}"
    return parts


def inertial_frame(model: VMSModel, root: str) -> str:
    """Return the inertial frame: the root link on a fixed base, otherwise odom."""
    return root if model.base == "fixed" else ODOM
