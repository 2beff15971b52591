# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Energy audits of recordings: the ledger, the report, and its files."""

from vms_ph_dynamics.energy.joint_friction import JointFriction

from .document import answers, document, lines
from .energy_audit import Audit, audit, audit_motion, recorded_robot
from .report import write_report

__all__ = [
    "Audit", "JointFriction", "answers", "audit", "audit_motion", "document", "lines",
    "recorded_robot", "write_report",
]  # fmt: skip
