# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion between ROS messages and arrays, energies and text."""
