# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Identities of the theory, evaluated for a model: each number is zero up to rounding."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..evaluation import Evaluation
from ..model import VMSModel
from .decoupled import DecoupledForm
from .ports import Ports
from .standard import StandardForm

# Rounding of sums over the bodies, times the sizes of what is summed.
_TOLERANCE = 1e-9
# Central differences of step 1e-6: 1e-12 of truncation, 1e-10 of rounding.
_DIFFERENCE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class StructureCheck:
    """A number that is zero up to rounding for a correct model.

    Attributes:
        name: a sentence that describes the violation of the identity.
        value: the violation, relative to the size of the terms.
        limit: largest acceptable value.
    """

    name: str
    value: float
    limit: float


def structure_checks(d: Evaluation) -> list[StructureCheck]:
    """Return all checks at a state."""
    model = d.model
    assert isinstance(model, VMSModel)
    standard, decoupled = StandardForm(model), DecoupledForm(model)
    x, x_hat = standard.state(d.q, d.v), decoupled.state(d.q, d.v)
    rng = np.random.default_rng(0)
    ports = Ports(
        rng.normal(size=model.n), rng.normal(size=model.b) if model.b else None, rng.normal(size=6)
    )
    rates = [form.rate(state, ports) for form, state in ((standard, x), (decoupled, x_hat))]
    balance = decoupled.power_balance(x_hat, ports)
    # No power flows into a robot at rest.
    norm = max(sum(abs(power) for power in balance.supplied.values()) + abs(balance.stored), 1.0)
    smallest_eigenvalue = float(np.linalg.eigvalsh(d.M)[0])
    energy = decoupled.hamiltonian(x_hat)
    kinetic_energy = d.kinetic_energy
    errors = {
        "the mass matrix has an eigenvalue below zero": max(-smallest_eigenvalue, 0.0),
        "the mass matrix is not symmetric": _relative(d.M - d.M.T, d.M),
        "the rate of the mass matrix is not C + C^T": _relative(_mass_rate(d) - d.C - d.C.T, d.C),
        "J is not skew": _skew_error(standard.interconnection(x)),
        "J_hat is not skew": _skew_error(decoupled.interconnection(x_hat)),
        "standard and decoupled form do not move alike": _relative(
            rates[0].qdot - rates[1].qdot, d.v
        ),
        "base and shape energy do not add up": _relative(
            np.array(energy.kinetic - kinetic_energy), np.array(kinetic_energy)
        ),
        "the power at the ports is not the rate of the stored energy": abs(balance.residual) / norm,
    }
    if model.is_plain:
        errors["the momentum rates are not those of Pinocchio's articulated bodies"] = _aba_error(
            d, ports, rates[0].zdot
        )
    limits = {
        "the mass matrix has an eigenvalue below zero": 0.0,
        "the rate of the mass matrix is not C + C^T": _DIFFERENCE_TOLERANCE,
    }
    return [StructureCheck(name, x, limits.get(name, _TOLERANCE)) for name, x in errors.items()]


def _aba_error(d: Evaluation, ports: Ports, zdot: Array) -> float:
    tree = d.tree
    acceleration = pin.aba(tree.pinocchio, tree.data(), d.q_origin, d.v, ports.force(d) + d.g)
    # d(M v)/dt, the base momentum in axes that turn with the base.
    momentum_rate = d.M @ acceleration + (d.C + d.C.T) @ d.v
    return _relative(momentum_rate - zdot, momentum_rate)


def _mass_rate(d: Evaluation) -> Array:
    h = 1e-6
    after, before = (Evaluation(d.model, d.model.integrate(d.q, s * h * d.v), d.v) for s in (1, -1))
    return (after.M - before.M) / (2 * h)


def _skew_error(matrix: Array) -> float:
    return _relative(matrix + matrix.T, matrix)


def _relative(difference: Array, reference: Array) -> float:
    scale = max(float(np.abs(reference).max(initial=0.0)), 1.0)
    return float(np.abs(difference).max(initial=0.0)) / scale
