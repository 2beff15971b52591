# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Energy audits of recordings: the ledger, the report, and its files."""

from .audit import Audit, audit, audit_recording
from .document import document, lines
from .report import write_report

__all__ = ["Audit", "audit", "audit_recording", "document", "lines", "write_report"]
