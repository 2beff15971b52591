# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of the simulator: its engine, what acts on the robot, and what it publishes."""
