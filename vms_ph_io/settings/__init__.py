# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of robots, scenes and nodes, from YAML files and tags of descriptions."""
