# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Ports for wrenches at frames of bodies."""

from dataclasses import dataclass

from vms_ph_dynamics.arrays import Array


@dataclass(frozen=True)
class Tool:
    """A frame that is fixed to a body and has a port of its own.

    The port takes a wrench at the origin of the frame, in its axes, and gives the twist of the
    frame in its axes.

    Attributes:
        body: its name in the mechanism.
        pose: (4,4) of the frame in the frame of the body, which is at its centre of mass.
    """

    body: str
    pose: Array
