# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes of the language; importing them finds a runtime of ROS 2, as importing vms_ph_nodes does."""

import vms_ph_nodes  # noqa: F401
