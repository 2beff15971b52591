# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Systems as data: mappings, lists, texts and numbers, as a file in YAML or JSON holds them."""

from ..components import KINDS, Kind
from .names import pair_name, pair_named, port_name, port_named, quantity_name, quantity_named
from .reading import build, initial_state
from .writing import describe

__all__ = [
    "KINDS", "Kind", "build", "describe", "initial_state", "pair_name", "pair_named", "port_name",
    "port_named", "quantity_name", "quantity_named",
]  # fmt: skip
