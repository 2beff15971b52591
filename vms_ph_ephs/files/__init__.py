# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Files of the language: patterns of systems, and drives of robots."""
