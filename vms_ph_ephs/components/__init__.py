# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The four kinds of primitive systems."""

from .component import KINDS, Component, Kind, NumberSpec, kind
from .irreversible import Dissipation, Irreversible, ProcessLaw
from .reversible import BracketLaw, Reversible
from .set_valued import Contact, DryFriction, SetValued
from .storage import Environment, Quadratic, Storage, StorageLaw, ZeroEnergy

__all__ = [
    "KINDS", "BracketLaw", "Component", "Contact", "Dissipation", "DryFriction", "Environment",
    "Irreversible", "Kind", "NumberSpec", "ProcessLaw", "Quadratic", "Reversible", "SetValued",
    "Storage", "StorageLaw", "ZeroEnergy", "kind",
]  # fmt: skip
