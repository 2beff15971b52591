# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies of free-floating robots: reorientation, reactionless motion, capture."""
