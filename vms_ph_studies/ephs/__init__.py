# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runs of robots as bodies, joints, drives and heat."""

from vms_ph_ephs.ledger import Ledger, Line, exergy_ledger

__all__ = ["Ledger", "Line", "exergy_ledger"]
