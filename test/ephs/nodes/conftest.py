# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Programs for the tests of nodes of this wing."""

from nodes.conftest import domain, start

__all__ = ["domain", "start"]
