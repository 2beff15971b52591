# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of robots: read from files, run in simulation, judged by their goals."""
