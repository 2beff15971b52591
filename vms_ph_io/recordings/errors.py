# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of recordings."""

from vms_ph_dynamics.errors import VmsPhError


class RecordingError(VmsPhError):
    """A recording that cannot be read, or that does not contain what is asked of it."""
