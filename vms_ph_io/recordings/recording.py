# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recording: the time series of a robot, from whatever file they were read."""

from dataclasses import dataclass, field
from pathlib import Path

from .table import Table

POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")
TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")

LOG = "log"
"""First column of every table: log time less stamp, s."""


@dataclass(frozen=True)
class Series:
    """One time series.

    Attributes:
        name: topic, or name in a file of columns.
        table: its rows; the first column is :data:`LOG`.
        names: joints, in the order of their positions, velocities and efforts; empty for others.
        frame: the frame in which it is given, or empty.
        child: the frame whose motion it is, or empty.
    """

    name: str
    table: Table
    names: tuple[str, ...] = ()
    frame: str = ""
    child: str = ""


@dataclass
class Recording:
    """All series of a recording that an audit can use.

    Attributes:
        path: of the recording.
        kind: what it is, such as "rosbag2" or "CSV".
        joints: joint states: columns positions, velocities, efforts, NaN where there are none.
        bases: poses and twists of the base: columns :data:`POSE` and :data:`TWIST`, NaN where
            there are none.
        wrenches: columns :data:`WRENCH`.
        port_energies: energies integrated by a simulation, or None; its columns are those of
            vms_ph/msg/PortEnergy.
        power: the balance that a running energy monitor published, or None.
        description: URDF in the recording, or empty.
        notes: what was damaged or left out.
        bytes: size of the files.
        messages: number of messages or rows.
        seconds: how long reading and auditing took, s, by ``read`` and ``audited``.
    """

    path: Path
    kind: str
    joints: list[Series] = field(default_factory=list)
    bases: list[Series] = field(default_factory=list)
    wrenches: list[Series] = field(default_factory=list)
    port_energies: Series | None = None
    power: Series | None = None
    description: str = ""
    notes: list[str] = field(default_factory=list)
    bytes: int = 0
    messages: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all recorded joints."""
        return tuple(dict.fromkeys(name for series in self.joints for name in series.names))
