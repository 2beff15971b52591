# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The four kinds of primitive systems."""

from .component import Component
from .irreversible import Irreversible
from .reversible import Reversible
from .set_valued import Contact, DryFriction, SetValued
from .storage import Environment, Quadratic, Storage

__all__ = [
    "Component", "Contact", "DryFriction", "Environment", "Irreversible", "Quadratic",
    "Reversible", "SetValued", "Storage",
]  # fmt: skip
