# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Fails when it is imported."""

raise RuntimeError("a module that fails when it is imported")
