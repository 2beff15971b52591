# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Systems as data: mappings, lists, texts and numbers, as a file in YAML or JSON holds them."""

from ..components import KINDS, Kind
from .names import pair_name, parse_pair, parse_port, parse_quantity, port_name, quantity_name
from .reading import build, initial_state
from .writing import describe

__all__ = [
    "KINDS", "Kind", "build", "describe", "initial_state", "pair_name", "parse_pair", "parse_port",
    "parse_quantity", "port_name", "quantity_name",
]  # fmt: skip
