# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source E: the equations of motion of free-floating robots."""
