# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source A, Rashad: the port-Hamiltonian structure of vehicle-manipulator systems."""
