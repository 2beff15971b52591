# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of every node: process, life cycle, parameters, diagnostics."""
