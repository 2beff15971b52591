# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The four kinds of primitive systems."""

from .component import Component
from .environment import Environment
from .irreversible import Irreversible
from .reversible import Reversible
from .set_valued import Contact, DryFriction, SetValued
from .storage import Quadratic, Storage

__all__ = [
    "Component",
    "Contact",
    "DryFriction",
    "Environment",
    "Irreversible",
    "Quadratic",
    "Reversible",
    "SetValued",
    "Storage",
]
