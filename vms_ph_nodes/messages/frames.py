# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names of frames: the inertial frame, and prefixes for several robots in one /tf."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time
from std_msgs.msg import Header

from vms_ph_dynamics import StateError, VMSModel
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_io.energy_split import ODOM as ODOM

BASE_LINK = "base_link"
"""The frame of a robot's base by REP-105."""

WORLD = "world"
"""A frame_id that commands may use for the inertial frame of any robot."""


@dataclass(frozen=True)
class Frames:
    """The frames of a robot, by their names in its description.

    Attributes:
        root: the root link.
        inertial: the inertial frame: the root link on a fixed base, otherwise odom.
        end_effector: the frame of the end effector.
        prefix: prefix of all of them in /tf, the ``frame_prefix`` of
            robot_state_publisher.
    """

    root: str
    inertial: str
    end_effector: str
    prefix: str

    @classmethod
    def from_model(cls, model: VMSModel, prefix: str = "") -> "Frames":
        """Return the frames of a robot."""
        root = LinkTree(model.tree).root
        return cls(root, root if model.base == "fixed" else ODOM, model.end_effector, prefix)

    def header(self, frame: str, stamp: Time) -> Header:
        """Return the header of a message in a frame."""
        return Header(stamp=stamp, frame_id=self.prefix + frame)

    def checked_frame(self, message: Any, frames: Sequence[str], subject: str = "") -> str:
        """Return the frame of a message without its prefix; an empty one is accepted, too.

        Raises:
            StateError: it is none of ``frames``; the sentence begins with ``subject``.
        """
        frame: str = message.header.frame_id.removeprefix(self.prefix)
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
