"""Names of frames: the inertial one, and prefixes of several robots in one /tf."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vms_ph_dynamics import VMSModel

ODOM = "odom"
"""The inertial frame of a robot on a moving base (REP-105)."""

WORLD = "world"
"""A name that commands may use for the inertial frame of any robot."""


def with_prefix(prefix: str, frame: str) -> str:
    """Return a frame as /tf has it: robot_state_publisher's ``frame_prefix`` put before it."""
    return f"{prefix}{frame}"


def without_prefix(prefix: str, frame: str) -> str:
    """Return a frame as the robot description has it."""
    return frame.removeprefix(prefix)


def inertial_frame(model: "VMSModel", root: str) -> str:
    """Return the inertial frame: the root link of a robot on a fixed base, else odom."""
    return root if model.base == "fixed" else ODOM
