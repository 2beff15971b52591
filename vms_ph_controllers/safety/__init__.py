# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The stages between a law and the actuators: limits, energy tank, output stage."""
