# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Semantics: the equations of motion of a system."""

from .assembly import assemble
from .equations import Equations, Rates
from .layout import Layout, StateEntry

__all__ = ["Equations", "Layout", "Rates", "StateEntry", "assemble"]
