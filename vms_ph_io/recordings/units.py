# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether positions and times are in SI units, by what the robot can do."""

import numpy as np

from vms_ph_dynamics import Array, VMSModel

from .recording import RecordingError

_BEYOND = 3.0  # times its limits, where the positions of a joint are in another unit
_SLOWEST = 2.0  # Hz, below which times may be in another unit
_TIME_UNITS = {1e3: "ms", 1e6: "us", 1e9: "ns"}


def check_units(model: VMSModel, t: Array, position: Array, velocity: Array) -> None:
    """Refuse degrees and times that are not seconds; both have two signs, or nothing is said.

    Args:
        model: the robot.
        t: (N,) s.
        position: (N, n) as recorded.
        velocity: (N, n) likewise, NaN or zero where there is none.

    Raises:
        RecordingError: positions are within the limits as degrees only, or the recorded velocities
            are the slopes of the positions in another unit of time, in which the rate is usual.
    """
    joints = model.joints
    reach = np.maximum(np.abs(joints.lower), np.abs(joints.upper))
    bounded = np.isfinite(reach) & ~np.array(joints.prismatic, dtype=bool)
    largest = np.abs(position).max(axis=0)
    beyond = bounded & (largest > _BEYOND * reach)
    if beyond.any() and np.all(np.deg2rad(largest[bounded]) < 1.1 * reach[bounded]):
        worst = int(np.argmax(np.where(beyond, largest / np.where(bounded, reach, 1.0), 0.0)))
        raise RecordingError(
            f"the positions of {joints.names[worst]} reach {largest[worst]:.4g}, its limits are "
            f"{joints.lower[worst]:.4g} and {joints.upper[worst]:.4g} rad: they look like degrees; "
            "give position the unit deg, and velocity deg/s, in a column map"
        )
    rate = 1.0 / float(np.median(np.diff(t)))
    slope = np.gradient(position, t, axis=0)
    size = float((slope**2).sum())
    factor = float((slope * velocity).sum()) / size if size > 0.0 else 0.0
    misfit = float(((velocity - factor * slope) ** 2).sum())
    follows = misfit < 0.1 * float((velocity**2).sum())
    for unit, name in _TIME_UNITS.items():
        if follows and rate < _SLOWEST and 0.8 < factor / unit < 1.25:
            raise RecordingError(
                f"by its times the recording has {rate:.3g} Hz, and its velocities are {unit:g} "
                f"times the slopes of the positions: the times look like {name}; give time the "
                f"unit {name} in a column map"
            )
