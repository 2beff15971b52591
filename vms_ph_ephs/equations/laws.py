# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Both laws of thermodynamics for a whole system, checked by sampling."""

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..errors import LawError, SimulationError, StructureError
from .equations import Equations

_SAMPLES = 3

# Of sampled temperatures, as a share of theta_0; entropies outside are halved this often.
_COLDEST, _HALVINGS = 0.2, 60

# Rounding of sums of powers of order one to a hundred, solved with matrices of condition 1e4.
_ROUNDING = 1e-9


def check_laws(equations: Equations) -> None:
    """Raise an error if energy or entropy of a system is not balanced.

    Raises:
        StructureError: a law fails; the message states which and by how much.
    """
    rng = np.random.default_rng(11)
    for _ in range(_SAMPLES):
        try:
            x = consistent_sample(equations, rng)
            flow = {
                name: rng.uniform(-1.0, 1.0, port.quantity.space.dimension)
                for name, port in equations.system.pattern.outer.items()
                if port.kind == "power" and port.quantity.name != "entropy"
            }
            rates = equations.rates(x, flow)
        except LawError as error:
            raise StructureError(str(error)) from None
        except SimulationError:
            continue  # a sample outside the domain of the model is no evidence about its laws
        given = equations.flow_of(flow)
        supplied = 0.0 if given is None else equations.supplied_power(rates.efforts, given)
        warm = np.zeros(equations.layout.stored)
        for held in equations.storages.entropies:
            warm[held.tangent] = 1.0
        e = rates.efforts[: equations.layout.stored]
        energy = float((e + equations.theta_0 * warm) @ rates.tangent)
        scale = 1.0 + float(np.abs(e * rates.tangent).sum()) + abs(supplied)
        if not abs(energy - supplied) <= _ROUNDING * scale:
            raise StructureError(
                f"the first law fails for the whole system: its energy changes at {energy:.6g} W "
                f"while {supplied:.6g} W are supplied; look for a component that generates power"
            )
        entropy = float(warm @ rates.tangent)
        if not entropy >= -_ROUNDING * scale / equations.theta_0:
            raise StructureError(
                f"the second law fails for the whole system: entropy is destroyed at {-entropy:.6g}"
                " W/K; look for negative friction"
            )


def consistent_sample(equations: Equations, rng: np.random.Generator) -> Array:
    """Return a random state whose velocities satisfy the constraints; its poses need not."""
    x = equations.states.vector()
    for held in equations.layout.states.values():
        x[held.at] = held.space.random(rng).ravel()
    return with_consistent_velocities(equations, _tempered(equations, x))


def _tempered(equations: Equations, x: Array) -> Array:
    """Return the state with entropies nearer to zero where they give extreme temperatures.

    One J/K is much for a small heat capacity, whose temperature would underflow.
    """
    x = x.copy()
    for _ in range(_HALVINGS):
        try:
            with np.errstate(over="ignore"):
                found = equations.storages.temperatures(x)
        except SimulationError:  # below zero, or not finite
            found = {}
        extreme = [
            held
            for held in equations.storages.entropies
            if not _COLDEST < found.get(held.end, 0.0) / equations.theta_0 < 1.0 / _COLDEST
        ]
        if not extreme:
            break
        for held in extreme:
            x[held.at] *= 0.5
    return x


def with_consistent_velocities(equations: Equations, x: Array) -> Array:
    """Return the state with ``G e = 0`` nearest in momenta, in the kinetic-energy metric."""
    n = equations.layout.linear
    if not equations.constraints.count:
        return x
    g = equations.constraint_matrix(x)
    r = g @ equations.storages.efforts(x)
    gq = g[:, :n] @ equations.storages.Q
    s = gq @ g[:, :n].T
    kappa = np.linalg.lstsq(s, r, rcond=1e-12)[0]
    y = x.copy()
    y[:n] -= g[:, :n].T @ kappa
    return y
