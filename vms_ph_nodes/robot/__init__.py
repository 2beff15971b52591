# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robot of a node: its description, state, topics, references and external efforts."""
