# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is tested here runs as users run it, in C++ where the core is built."""

from built_core import compiled, panda

__all__ = ["compiled", "panda"]
