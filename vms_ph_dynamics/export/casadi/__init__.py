# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Port-Hamiltonian forms as functions of CasADi, for optimal control and code generation.

It needs the extra ``pip install 'vms-ph[casadi]'``; ``form.casadi()`` is the way in.
"""

from typing import Any

from ...arrays import Array
from ...errors import MissingExtraError
from ...model import VMSModel
from ...tasks import Task

try:
    import casadi  # noqa: F401
except ImportError:
    raise MissingExtraError(
        "the export to CasADi needs the package casadi: pip install 'vms-ph[casadi]'"
    ) from None

from .form import CasadiForm
from .momentum_forms import CasadiDecoupledForm, CasadiStandardForm
from .task_form import CasadiTaskForm

__all__ = [
    "CasadiDecoupledForm", "CasadiForm", "CasadiStandardForm", "CasadiTaskForm", "casadi_form",
]  # fmt: skip


def casadi_form(
    model: VMSModel, decoupled: bool, task: tuple[Task, Array] | None, **options: Any
) -> CasadiForm:
    """Return a form as functions of CasADi; see :meth:`.Form.casadi`.

    Args:
        model: the robot.
        decoupled: whether it is the inertially decoupled form, or the standard one.
        task: of a task-space form, with its reference basis (nv-m,nv).
        options: whether ``gravity`` and buoyancy act; the ``friction`` in the joints, or None;
            whether the inertial ``parameters`` are an input.
    """
    if task is not None:
        return CasadiTaskForm(model, *task, **options)
    return (CasadiDecoupledForm if decoupled else CasadiStandardForm)(model, **options)
