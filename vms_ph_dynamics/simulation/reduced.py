# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a simulation asks of a form, with and without velocity constraints."""

from typing import Any, TypeAlias

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..forms import Form
from ..integrators import default_scheme, make_stepper
from ..integrators.stepper import system_stepper
from ..nonholonomic import NonholonomicForm, NonholonomicRK4

SimulatedForm: TypeAlias = Form | NonholonomicForm
"""A robot, or a robot on wheels that do not slip."""


def stepper_of(form: SimulatedForm, scheme: str | None, native: bool | None) -> Any:
    """Return the scheme of a form; the default one when None.

    Raises:
        OptionError: there is no such scheme.
        ModelError: the scheme does not cover the robot, or does not exist in C++ with
            ``native=True``.
    """
    if not isinstance(form, NonholonomicForm):
        return make_stepper(scheme or default_scheme(form.model), form, native=native)
    if native:
        raise ModelError("robots on wheels that do not slip have no scheme in C++; leave native")
    return system_stepper(form, scheme or NonholonomicRK4.name)


def reduced(form: SimulatedForm, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return mass matrix (m,m), joint rates per velocity (n,m), and velocity (m,) of a motion.

    The velocities are those that the constraints leave; without any, they are all (nv,).
    """
    model = form.model
    if isinstance(form, NonholonomicForm):
        terms = form.terms(q, v[form.independent])
        return terms.mass, terms.basis[model.b :], terms.nu
    return model.evaluate(q, v).M, np.eye(model.nv)[model.b :], v
