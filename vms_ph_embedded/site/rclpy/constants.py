# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Numbers that everyone needs."""

S_TO_NS = 1_000_000_000
