# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Topics of a robot that nodes listen to: its motion, references and trajectories."""
