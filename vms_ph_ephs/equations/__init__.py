# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Semantics: the equations of motion of a system."""

from .assembly import assemble
from .equations import Equations, Rates
from .layout import Layout, StateEntry
from .linearisation import Linearisation, linearise

__all__ = [
    "Equations", "Layout", "Linearisation", "Rates", "StateEntry", "assemble", "linearise",
]  # fmt: skip
