# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of assembled systems as expressions of SymPy or CasADi.

Parameters must fully determine every component, as those of the library, bodies and joints. For a
component with a user-defined function the error names its box.
"""

from .algebra import Algebra, CasadiAlgebra, SympyAlgebra
from .symbolic_equations import SymbolicEquations, symbolic

__all__ = ["Algebra", "CasadiAlgebra", "SymbolicEquations", "SympyAlgebra", "symbolic"]
