# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded motion of a robot as arrays: what an audit and an identification start from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array, frozen
from ..errors import StateError


@dataclass(frozen=True)
class MotionSamples:
    """Samples of a motion, in the order of time, in the coordinates of a model.

    Attributes:
        t: times, (N,), s, strictly increasing.
        q: configurations, (N, nq), as the model has them.
        v: velocities, (N, nv): base twist in the base frame, joint rates.
        torque: joint efforts that the actuators deliver, (N, n), N m or N; of the model's joints
            in their order.
        wrenches: external wrenches by port, each (N, 6), linear first, in the frame of the port:
            ``base`` in the base frame, a tool frame in its own.
        held: whether an effort and a wrench are held from their sample to the next (commands), or
            are samples of a continuous signal (measurements).

    Raises:
        StateError: the arrays do not have one row for each time, or the times do not increase.
    """

    t: Array
    q: Array
    v: Array
    torque: Array
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    held: bool = False

    def __post_init__(self) -> None:
        rows = {"q": self.q, "v": self.v, "torque": self.torque, **self.wrenches}
        for name, value in rows.items():
            if value.ndim != 2 or value.shape[0] != self.t.size:
                raise StateError(
                    f"{name} must have one row for each of the {self.t.size} times; "
                    f"given: shape {value.shape}"
                )
        if self.t.ndim != 1 or not bool(np.all(np.diff(self.t) > 0.0)):
            raise StateError("the times t must be one vector that strictly increases")
        for value in (self.t, *rows.values()):
            frozen(value)

    def __len__(self) -> int:
        return int(self.t.size)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample, s."""
        return float(self.t[-1] - self.t[0]) if self.t.size else 0.0
