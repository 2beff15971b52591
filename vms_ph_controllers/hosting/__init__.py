# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Loading of controllers by name, and what hosts them: a simulation, a node, another language."""
