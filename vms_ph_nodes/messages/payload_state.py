# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of the payload of a simulation to messages and back."""

import numpy as np
from geometry_msgs.msg import Inertia, InertiaStamped
from std_msgs.msg import Header
from vms_ph.msg import PayloadState

from vms_ph_dynamics import Array, StateError
from vms_ph_dynamics.free_floating import Body
from vms_ph_io.tasks.payload_use import PayloadUse

from .conversions import check_range, from_xyz, to_pose, to_vector

CARRIED_INERTIA = "vms_ph/carried_inertia"
"""Topic of what the end effector carries."""

# Order of the entries of an inertia in a message.
_ENTRIES = [*zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), *np.triu_indices(3), strict=True)]


def to_payload_state(
    header: Header, use: PayloadUse, pose: Array, momentum: Array | None, resets: int
) -> PayloadState:
    """Return the message.

    Args:
        header: with the inertial frame.
        use: the payload.
        pose: (4,4) of its handle.
        momentum: (6,) of robot and payload, linear first; None where it is not kept.
        resets: of the simulation.
    """
    state = PayloadState.CARRIED if use.carried is not None else PayloadState.FREE
    linear, angular = np.zeros((2, 3)) if momentum is None else momentum.reshape(2, 3)
    return PayloadState(
        header=header,
        pose=to_pose(pose),
        state=PayloadState.SET_DOWN if use.is_set_down else state,
        tried=use.capture_distance is not None,
        distance=0.0 if use.capture_distance is None else use.capture_distance,
        brought=use.brought,
        left=use.left,
        lost_capture=use.lost["capture"],
        lost_setting_down=use.lost["setting_down"],
        momentum_kept=momentum is not None,
        linear_momentum=to_vector(linear),
        angular_momentum=to_vector(angular),
        resets=resets,
    )


def momentum_of(message: PayloadState) -> Array | None:
    """Return the momentum in a message, (6,); None where it is not kept."""
    if not message.momentum_kept:
        return None
    parts = (message.linear_momentum, message.angular_momentum)
    return np.concatenate([from_xyz(part) for part in parts])


def to_inertia(header: Header, body: Body | None) -> InertiaStamped:
    """Return the inertia of a body at the end effector, without mass for none.

    Args:
        header: with the frame of the end effector.
        body: in the axes of that frame.
    """
    if body is None:
        return InertiaStamped(header=header)
    tensor = np.asarray(body.inertia, float)
    entries = {name: float(tensor[row, column]) for name, row, column in _ENTRIES}
    centre = to_vector(body.centre)
    return InertiaStamped(header=header, inertia=Inertia(m=float(body.mass), com=centre, **entries))


def from_inertia(message: InertiaStamped) -> Body | None:
    """Return the body in a message, None for one without mass.

    Raises:
        StateError: a number is not finite or too large.
        ModelError: it is the inertia of no body.
    """
    inertia = message.inertia
    tensor = np.zeros((3, 3))
    for name, row, column in _ENTRIES:
        tensor[row, column] = tensor[column, row] = getattr(inertia, name)
    centre = from_xyz(inertia.com)
    check_range(np.array([inertia.m, *centre, *tensor.ravel()]), "an inertia")
    if inertia.m == 0.0:
        if tensor.any():
            raise StateError("an inertia without a mass is no body; one of zeros stands for none")
        return None
    body = Body(float(inertia.m), centre, tensor)
    body.in_frame()
    return body
