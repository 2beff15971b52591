# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Port-Hamiltonian forms as functions of CasADi, for optimal control and code generation.

It needs the extra ``pip install 'vms-ph[casadi]'``; ``form.casadi()`` is the way in.
"""

from ...errors import MissingExtraError

try:
    import casadi  # noqa: F401
except ImportError:
    raise MissingExtraError(
        "the export to CasADi needs the package casadi: pip install 'vms-ph[casadi]'"
    ) from None

from .form import CasadiForm
from .momentum_forms import CasadiDecoupledForm, CasadiStandardForm
from .task_form import CasadiTaskForm

__all__ = ["CasadiDecoupledForm", "CasadiForm", "CasadiStandardForm", "CasadiTaskForm"]
