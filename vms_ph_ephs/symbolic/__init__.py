# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of assembled systems as expressions of SymPy or CasADi.

Every part of the system must be declared by numbers, as those of the library and of bodies and
joints are; a part that is a function of the user is named.
"""

from .algebra import Algebra, CasadiAlgebra, SympyAlgebra
from .symbolic_equations import SymbolicEquations, symbolic

__all__ = ["Algebra", "CasadiAlgebra", "SymbolicEquations", "SympyAlgebra", "symbolic"]
