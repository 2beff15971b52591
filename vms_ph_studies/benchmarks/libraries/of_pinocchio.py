# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio: its algorithms, their derivatives, and its pool of models."""

import os

import numpy as np
import pinocchio as pin

from .contender import ACCELERATION, BATCH, BATCH_SIZE, DERIVATIVES, MASS_MATRIX, Contender, Problem

ABA, CRBA, ABA_DERIVATIVES = "aba", "crba", "computeABADerivatives"
POOLED = "abaInParallel"


def pinocchio(problem: Problem) -> Contender:
    """Return the calls of Pinocchio."""
    m, (q, v, tau) = problem.model.pinocchio, (problem.q, problem.v, problem.force)
    data, a = m.createData(), np.zeros(m.nv)
    threads = os.cpu_count() or 1
    pool = pin.ModelPool(m, threads)
    many_q, many_v, many_tau = (np.tile(x[:, None], BATCH_SIZE) for x in (q, v, tau))
    accelerations = np.zeros((m.nv, BATCH_SIZE))
    return Contender(
        "Pinocchio",
        {
            ACCELERATION: {ABA: lambda: pin.aba(m, data, q, v, tau)},
            MASS_MATRIX: {CRBA: lambda: pin.crba(m, data, q)},
            DERIVATIVES: {
                ABA_DERIVATIVES: lambda: pin.computeABADerivatives(m, data, q, v, tau),
                "computeRNEADerivatives": lambda: pin.computeRNEADerivatives(m, data, q, v, a),
            },
            BATCH: {
                f"{POOLED}, {threads} threads": lambda: pin.abaInParallel(
                    threads, pool, many_q, many_v, many_tau, accelerations
                )
            },
        },
        lambda: pin.aba(m, data, q, v, tau)[problem.model.b :].copy(),
    )
