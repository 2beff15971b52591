# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Names of frames: the inertial frame, and prefixes for several robots in one /tf."""

import re
from typing import TYPE_CHECKING

from vms_ph_io.energy_split import ODOM as ODOM

if TYPE_CHECKING:
    from vms_ph_dynamics import VMSModel

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


def tool_topic(frame: str) -> str:
    """Return the last part of a tool's topics: its frame with what no topic may have as ``_``."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", frame)
    return f"_{name}" if name[:1].isdigit() else name


def inertial_frame(model: "VMSModel", root: str) -> str:
    """Return the inertial frame: the root link on a fixed base, otherwise odom."""
    return root if model.base == "fixed" else ODOM
