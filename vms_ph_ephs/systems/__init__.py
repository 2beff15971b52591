# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Systems: patterns whose boxes are filled."""

from .relation import Relation, relation
from .system import System, compose, flatten

__all__ = ["Relation", "System", "compose", "flatten", "relation"]
