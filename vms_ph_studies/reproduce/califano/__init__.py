# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source D, Califano: the task-space port-Hamiltonian form."""
