# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Monte Carlo studies of the tasks of robots."""
