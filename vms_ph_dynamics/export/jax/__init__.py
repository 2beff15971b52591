# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Port-Hamiltonian forms as functions of JAX; ``form.jax()`` is the way in.

It needs the extra ``pip install 'vms-ph[jax]'``.
"""

from typing import TYPE_CHECKING, Any

from ...arrays import Array
from ...errors import MissingExtraError
from ...model import VMSModel
from ...tasks import Task

if TYPE_CHECKING:
    from .form import JaxForm

__all__ = ["jax_form"]


def jax_form(
    model: VMSModel, decoupled: bool, task: tuple[Task, Array] | None, **options: Any
) -> "JaxForm":
    """Return a form as functions of JAX; see :meth:`.Form.jax`.

    Args:
        model: the robot.
        decoupled: whether it is the inertially decoupled form, or the standard one.
        task: of a task-space form, with its reference basis (nv-m,nv).
        options: whether ``gravity`` acts; the ``friction`` in the joints, or None.

    Raises:
        MissingExtraError: JAX is not installed.
        ModelError: the robot, the task or the friction is not supported.
    """
    try:
        import jax  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the export to JAX needs the package jax: pip install 'vms-ph[jax]'"
        ) from None
    from ..forms import DecoupledTerms, StandardTerms
    from .form import JaxForm, JaxTaskForm

    if task is not None:
        return JaxTaskForm(model, *task, **options)
    return JaxForm(model, make_terms=DecoupledTerms if decoupled else StandardTerms, **options)
