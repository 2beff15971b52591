# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The motion of a vehicle in a flight log of PX4 (``.ulg``)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array

from .base_states import in_base_axes
from .recording import RecordingError

_ATTITUDE = "vehicle_attitude"
_POSITION = "vehicle_local_position"
_RATES = "vehicle_angular_velocity"
_OLD_RATES = ("rollspeed", "pitchspeed", "yawspeed")
_Z_UP = np.array([1.0, -1.0, -1.0])
"""From PX4's axes, forward (or north), right (east), down, to forward, left, up."""


def load_px4_log(path: Path) -> dict[str, Any]:
    """Return ``time``, pose and twist of the base by name, as a column map names them.

    Raises:
        RecordingError: the log has no attitude or no valid position.
        ImportError: pyulog is not installed. A damaged file raises anything.
    """
    from pyulog import ULog

    with path.open("rb") as file:
        log = ULog(file, [_ATTITUDE, _POSITION, _RATES])
    topics = {topic.name: topic.data for topic in log.data_list if topic.multi_id == 0}
    if missing_topics := [name for name in (_ATTITUDE, _POSITION) if name not in topics]:
        raise RecordingError(f"it has no {' and no '.join(missing_topics)}")
    attitude, position = topics[_ATTITUDE], topics[_POSITION]
    rates = topics.get(_RATES, attitude)  # older logs have them beside the attitude
    rate_names = ("xyz[0]", "xyz[1]", "xyz[2]") if _RATES in topics else _OLD_RATES
    is_valid = (position["xy_valid"] > 0) & (position["z_valid"] > 0)
    if not is_valid.any():
        raise RecordingError(f"no {_POSITION} in it is valid")
    position = {name: values[is_valid] for name, values in position.items()}
    first_stamp, last_stamp = position["timestamp"][[0, -1]]
    is_within = (attitude["timestamp"] >= first_stamp) & (attitude["timestamp"] <= last_stamp)
    t = attitude["timestamp"][is_within]

    def interpolate(topic: dict[str, Array], names: Sequence[str]) -> Array:
        columns = [np.interp(t, topic["timestamp"], topic[name]) for name in names]
        return np.stack(columns, axis=1) * _Z_UP

    wxyz = [attitude[f"q[{k}]"][is_within] for k in range(4)]
    quaternion = np.stack([*wxyz[1:], wxyz[0]], axis=1) * np.append(_Z_UP, 1.0)
    velocity = interpolate(position, ("vx", "vy", "vz"))
    return {
        "time": t * 1e-6,
        "base_position": interpolate(position, ("x", "y", "z")),
        "base_quaternion": quaternion,
        "base_linear_velocity": in_base_axes(quaternion, velocity),
        "base_angular_velocity": interpolate(rates, rate_names),
    }
