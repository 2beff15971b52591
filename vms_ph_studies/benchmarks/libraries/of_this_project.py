# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""This project: its forms, their derivatives, and their export to CasADi."""

from importlib import metadata

import numpy as np

from vms_ph_dynamics import (
    DecoupledForm,
    MissingExtraError,
    Ports,
    StandardForm,
    rate_derivatives,
)

from .contender import (
    ACCELERATION,
    BATCH,
    BATCH_SIZE,
    DERIVATIVES,
    MASS_MATRIX,
    Contender,
    Problem,
    UnavailableError,
)


def this_project(problem: Problem) -> Contender:
    """Return the rates, the mass matrix and the derivatives of the forms."""
    model, ports = problem.model, Ports(torque=problem.torque)
    standard, decoupled = StandardForm(model), DecoupledForm(model)
    x, x_hat = (form.state(problem.q, problem.v) for form in (standard, decoupled))
    Q, Z, Z_hat = (np.tile(part, (BATCH_SIZE, 1)) for part in (problem.q, x.z, x_hat.z))
    return Contender(
        "vms_ph",
        {
            ACCELERATION: {
                "StandardForm.rate": lambda: standard.rate(x, ports),
                "DecoupledForm.rate": lambda: decoupled.rate(x_hat, ports),
            },
            MASS_MATRIX: {"evaluate(q, v).M": lambda: model.evaluate(problem.q, problem.v).M},
            DERIVATIVES: {
                "StandardForm, rate_derivatives": lambda: rate_derivatives(standard, x, ports),
                "DecoupledForm, rate_derivatives": lambda: rate_derivatives(
                    decoupled, x_hat, ports
                ),
            },
            BATCH: {
                "StandardForm.rate_batch": lambda: standard.rate_batch(Q, Z, ports),
                "DecoupledForm.rate_batch": lambda: decoupled.rate_batch(Q, Z_hat, ports),
            },
        },
    )


def exported_to_casadi(problem: Problem) -> Contender:
    """Return the rate of the standard form in CasADi.

    Raises:
        UnavailableError: CasADi is not installed.
    """
    try:
        form = StandardForm(problem.model).casadi()
    except MissingExtraError:
        raise UnavailableError("CasADi is not installed (pip install 'vms-ph[casadi]')") from None
    import casadi as ca

    x = StandardForm(problem.model).state(problem.q, problem.v)
    q, z = ca.SX.sym("q", len(x.q)), ca.SX.sym("z", len(x.z))
    symbolic = form.rate(q=q, z=z, torque=problem.torque)
    stacked = ca.vertcat(symbolic["qdot"], symbolic["zdot"])
    rate = ca.Function("rate", [q, z], [stacked])
    slope = ca.Function("slope", [q, z], [ca.jacobian(stacked, q), ca.jacobian(stacked, z)])
    many = rate.map(BATCH_SIZE)
    many_q, many_z = (np.tile(part[:, None], BATCH_SIZE) for part in (x.q, x.z))
    return Contender(
        "vms_ph in CasADi",
        {
            ACCELERATION: {"StandardForm.casadi().rate": lambda: rate(x.q, x.z)},
            MASS_MATRIX: {"StandardForm.casadi().mass_matrix": lambda: form.mass_matrix(x.q)},
            DERIVATIVES: {"jacobian of rate": lambda: slope(x.q, x.z)},
            BATCH: {"rate.map": lambda: many(many_q, many_z)},
        },
        version=metadata.version("casadi"),
    )
