# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Interconnection patterns: the syntax of the language."""

from .composition import same_interface, substitute
from .pattern import Interface, Kind, Pattern, Port, power, split, state, width

__all__ = [
    "Interface", "Kind", "Pattern", "Port", "power", "same_interface", "split", "state",
    "substitute", "width",
]  # fmt: skip
