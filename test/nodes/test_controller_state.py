# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ControllerState message has the fields of the controllers' records."""

from dataclasses import fields

import numpy as np
from std_msgs.msg import Header
from vms_ph.msg import ControllerState

from vms_ph_controllers import Command, ControlEnergy, Status
from vms_ph_nodes.messages.energy_messages import to_controller_state

BESIDE_THE_ENERGY = {
    "header",
    "status",
    "reason",
    "authority",
    "task_error",
    "smallest_singular_value",
}


def test_the_message_has_the_fields_of_the_energy_record_and_no_others() -> None:
    energies = {field.name for field in fields(ControlEnergy)}
    assert set(ControllerState.get_fields_and_field_types()) == energies | BESIDE_THE_ENERGY


def test_every_field_is_copied_to_the_message() -> None:
    values = {field.name: 1.0 + k for k, field in enumerate(fields(ControlEnergy))}
    message = to_controller_state(
        Header(frame_id="here"),
        Command(
            np.zeros(6),
            np.zeros(7),
            ControlEnergy(**values),
            Status.SATURATED,
            "torque at its limit",
            task_error=0.1,
            smallest_singular_value=0.2,
            authority=0.3,
        ),
    )
    assert {name: getattr(message, name) for name in values} == values
    assert message.header.frame_id == "here"
    assert message.status == ControllerState.SATURATED
    assert message.reason == "torque at its limit"
    others = message.task_error, message.smallest_singular_value, message.authority
    assert others == (0.1, 0.2, 0.3)
