# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of energies and rates by central differences, of forms of any kind."""

from collections.abc import Callable
from copy import copy

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import (
    EnergyDerivatives,
    Form,
    PHState,
    Ports,
    RateDerivatives,
    TaskSpaceForm,
    VMSModel,
)
from vms_ph_dynamics.arrays import Array, frozen

STEP = 1e-5
"""Relative step of the differences: their error is its square, and rounding divided by it."""


def numerical_energy_derivatives(form: Form, x: PHState, gravity: bool = True) -> EnergyDerivatives:
    """Return :func:`.energy_derivatives` by central differences, of a form of any kind.

    Raises:
        StateError: the state has the wrong shape or is not finite.
    """

    def energy(form: Form, x: PHState) -> Array:
        energies = form.hamiltonian(x)
        return np.array([energies.total if gravity else energies.kinetic])

    # The energy is quadratic in the momenta: there any step is exact, and a large one best.
    by_q, by_z, by_parameters = _differences(form, x, energy, 1.0 / STEP)
    return EnergyDerivatives(*(frozen(part[0].copy()) for part in (by_q, by_z, by_parameters)))


def numerical_rate_derivatives(form: Form, x: PHState, ports: Ports) -> RateDerivatives:
    """Return :func:`.rate_derivatives` by central differences, of a form of any kind.

    Raises:
        StateError: a state or effort has the wrong shape or is not finite.
    """
    nv, b = form.model.nv, form.model.b

    def rate(form: Form, x: PHState) -> Array:
        return np.concatenate(form.rate(x, ports))

    def forced(force: Array) -> Array:
        torque = 0.0 if ports.torque is None else ports.torque
        base = 0.0 if ports.wrench_base is None else ports.wrench_base
        more = {name: getattr(ports, name) for name in Ports.__dataclass_fields__}
        more |= {"torque": torque + force[b:], "wrench_base": base + force[:b]}
        return form.rate(x, Ports(**more)).zdot

    parts = _differences(form, x, rate)
    by_force = _central(forced, np.ones(nv))
    velocity, zdot = [part[:nv] for part in parts], [part[nv:] for part in parts]
    every = (*velocity, *zdot[:2], by_force, zdot[2])
    return RateDerivatives(*(frozen(part.copy()) for part in every))


def _differences(
    form: Form, x: PHState, function: Callable[[Form, PHState], Array], larger: float = 1.0
) -> tuple[Array, Array, Array]:
    model = form.model
    # Steps of the momenta that change the velocity by one in its largest entry.
    units = np.eye(model.nv)
    scale = np.array([1.0 / np.abs(form.velocity(PHState(x.q, unit))).max() for unit in units])
    by_q = _central(
        lambda dq: function(form, PHState(model.integrate(x.q, dq), x.z)), np.ones(model.nv)
    )
    by_z = _central(lambda dz: function(form, PHState(x.q, x.z + dz)), larger * scale)
    phi = np.concatenate([i.toDynamicParameters() for i in model.tree.pinocchio.inertias[1:]])

    def changed(dphi: Array) -> Array:
        return function(_with_model(form, _with_parameters(model, phi + dphi)), x)

    # The mass matrix is affine in the parameters; small robots have small ones.
    sizes = np.tile(np.repeat([1.0, 0.1, 0.01], [1, 3, 6]), len(phi) // 10)
    return by_q, by_z, _central(changed, model.total_mass / len(phi) * sizes)


def _central(function: Callable[[Array], Array], scale: Array) -> Array:
    columns = []
    for k, size in enumerate(STEP * scale):
        step = np.zeros(len(scale))
        step[k] = size
        columns.append((function(step) - function(-step)) / (2.0 * size))
    return np.stack(columns, axis=1)


def _with_model(form: Form, model: VMSModel) -> Form:
    if isinstance(form, TaskSpaceForm):
        return TaskSpaceForm(
            model, form.task, basis=form._reference, singular_below=form.singular_below
        )
    return type(form)(model)


def _with_parameters(model: VMSModel, phi: Array) -> VMSModel:
    """Return the robot with other inertial parameters, which need not be those of rigid bodies."""
    other = copy(model)
    other.tree = model.tree.with_inertias(
        [
            pin.Inertia.FromDynamicParameters(body_parameters)
            for body_parameters in phi.reshape(-1, 10)
        ]
    )
    other.total_mass = other.tree.total_mass
    return other
