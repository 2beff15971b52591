# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of bags."""

from vms_ph_dynamics.errors import VmsPhError


class BagError(VmsPhError):
    """A bag that cannot be written, read, or decoded."""
