# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The actions of a launch file: parsing, checks and execution of every tag."""
