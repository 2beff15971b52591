# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of observed contacts and payloads to messages."""

import numpy as np
from std_msgs.msg import Header
from vms_ph.msg import Contact, Payload

from vms_ph_controllers.observers import ContactReport
from vms_ph_controllers.observers import Payload as ObservedPayload
from vms_ph_dynamics import VMSModel

from .conversions import from_xyz, to_point, to_vector


def to_contact(header: Header, model: VMSModel, report: ContactReport) -> Contact:
    """Return what is known of contact, with the joint by its name."""
    return Contact(
        header=header,
        contact=bool(report.contact),
        began=bool(report.began),
        by_momentum=report.by_momentum,
        by_energy=report.by_energy,
        duration=report.duration,
        work=report.work,
        work_deviation=report.work_deviation,
        joint=model.joint_names[report.joint] if report.joint >= 0 else "",
    )


def from_payload(message: Payload) -> ObservedPayload:
    """Return a payload, with the deviations of mass and centre of mass as if independent."""
    moment = message.mass * from_xyz(message.centre_of_mass)
    spreads = message.mass * from_xyz(message.centre_deviation)
    deviations = np.array([message.mass_deviation, *spreads])
    return ObservedPayload(message.mass, moment, np.diag(deviations**2), message.changed)


def to_payload(header: Header, payload: ObservedPayload) -> Payload:
    """Return a payload with its deviations."""
    return Payload(
        header=header,
        mass=payload.mass,
        mass_deviation=payload.mass_deviation,
        centre_of_mass=to_point(payload.centre),
        centre_deviation=to_vector(payload.centre_deviation),
        changed=bool(payload.changed),
    )
