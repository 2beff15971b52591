# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The potential energies that laws give to a robot."""
