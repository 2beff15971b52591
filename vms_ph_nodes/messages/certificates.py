# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Conversion of the certificate of an energy guard to a message."""

from dataclasses import fields

from std_msgs.msg import Header
from vms_ph.msg import EnergyCertificate

from vms_ph_controllers.energy_guard import Certificate, Guarded


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
