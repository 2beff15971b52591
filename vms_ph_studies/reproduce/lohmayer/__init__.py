# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source C, Lohmayer: exergetic port-Hamiltonian multibody systems."""
