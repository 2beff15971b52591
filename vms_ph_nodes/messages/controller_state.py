# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of a command to a ControllerState message."""

from dataclasses import fields

from std_msgs.msg import Header
from vms_ph.msg import ControllerState

from vms_ph_controllers import Command, ControlEnergy

ENERGY_FIELDS = tuple(field.name for field in fields(ControlEnergy))
"""The fields of the energy record; the message uses the same names."""

# Fields of a command that are published in other messages, or have another type in this one.
_OTHER = ("wrench_base", "torque", "energy", "status")

COMMAND_FIELDS = tuple(field.name for field in fields(Command) if field.name not in _OTHER)
"""The fields of a command for which the message uses the same names."""


def to_controller_state(header: Header, command: Command) -> ControllerState:
    """Return a command as a message."""
    return ControllerState(
        header=header,
        status=int(command.status),
        **{name: getattr(command, name) for name in COMMAND_FIELDS},
        **{name: getattr(command.energy, name) for name in ENERGY_FIELDS},
    )
