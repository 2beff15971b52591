# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of the certificate of an energy guard to a message."""

from dataclasses import fields

from std_msgs.msg import Header
from vms_ph.msg import EnergyCertificate

from vms_ph_controllers.guard import Certificate, Guarded


def to_certificate(header: Header, certificate: Certificate, sent: Guarded) -> EnergyCertificate:
    """Return a certificate, with what the guard does now, as a message."""
    numbers = {item.name: getattr(certificate, item.name) for item in fields(certificate)}
    return EnergyCertificate(
        header=header,
        status=int(sent.status),
        reason=sent.reason,
        verdict=certificate.verdict,
        **{**numbers, "ports": list(certificate.ports)},
    )
