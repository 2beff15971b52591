# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes of the language; importing them selects the runtime, as importing vms_ph_nodes does."""

import vms_ph_nodes  # noqa: F401
