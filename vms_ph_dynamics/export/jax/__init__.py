# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Port-Hamiltonian forms as functions of JAX; ``form.jax()`` is the way in.

It needs the extra ``pip install 'vms-ph[jax]'``.
"""

from typing import TYPE_CHECKING

from ...actuation.friction import Friction
from ...errors import MissingExtraError
from ...forms import DecoupledForm, Form, TaskSpaceForm

if TYPE_CHECKING:
    from .form import JaxForm

__all__ = ["jax_form"]


def jax_form(form: Form, gravity: bool, friction: Friction | None) -> "JaxForm":
    """Return a form as functions of JAX; see :meth:`.Form.jax`.

    Raises:
        MissingExtraError: JAX is not installed.
        ModelError: the robot, the task or the friction is not covered.
    """
    try:
        import jax  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "the export to JAX needs the package jax: pip install 'vms-ph[jax]'"
        ) from None
    from .form import JaxDecoupledForm, JaxStandardForm, JaxTaskForm

    if isinstance(form, TaskSpaceForm):
        reference = form.reference_basis
        return JaxTaskForm(form.model, form.task, reference, gravity, friction)
    kind = JaxDecoupledForm if isinstance(form, DecoupledForm) else JaxStandardForm
    return kind(form.model, gravity, friction)
