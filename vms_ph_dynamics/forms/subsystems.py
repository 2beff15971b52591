# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Dirac structures of arm and base, and their interconnection [A, sections 3 to 5].

The structure of a robot on a moving base is the direct product of both, with a wrench at the end
effector mapped to both: base and arm are coupled by their inertia alone.
"""

from collections.abc import Mapping

import numpy as np

from ..arrays import Array, frozen
from ..evaluation import Evaluation
from .dirac import DiracStructure
from .standard import StandardForm, lie_poisson
from .state import PHState


def manipulator_structure(d: Evaluation) -> DiracStructure:
    """Return the Dirac structure of the arm on a fixed base [A, after (33)].

    From the efforts ``(dH/dq, dH/dpi, dV/dq, tau, W_e)`` to the flows
    ``(qdot, pidot, qdot, -qdot, -V_e)``. The source prints the last two flows without the sign;
    with it the matrix is skew-symmetric.

    Returns:
        Ports ``q``, ``pi``, ``potential_joints`` and ``torque`` of size n, and
        ``wrench_end_effector`` of size 6.
    """
    b, n = d.model.b, d.model.n
    on_momentum = np.hstack([-np.eye(n), np.eye(n), d.J_end_effector[:, b:].T])
    sizes = {"q": n, "pi": n, "potential_joints": n, "torque": n, "wrench_end_effector": 6}
    matrix = np.zeros((4 * n + 6, 4 * n + 6))
    matrix[:n, n : 2 * n] = np.eye(n)
    matrix[n : 2 * n, 2 * n :] = on_momentum
    return DiracStructure.from_matrix(matrix - matrix.T, sizes)


def base_structure(d: Evaluation) -> DiracStructure:
    """Return the Dirac structure of the base [A (43)], its configuration left-trivialised.

    From the efforts ``(dH/dp, chi*(dV/dh), w)`` to the flows ``(pdot, v, -v)``. The source prints
    the last flow without the sign.

    Returns:
        Ports ``p``, ``potential_base`` and ``wrench_base``, of size b each.
    """
    b = d.model.b
    unit, zero = np.eye(b), np.zeros((b, b))
    matrix = np.block(
        [[lie_poisson(d.model, d.p), -unit, unit], [unit, zero, zero], [-unit, zero, zero]]
    )
    return DiracStructure.from_matrix(matrix, {"p": b, "potential_base": b, "wrench_base": b})


def wrench_junction(jacobian: Array, on: Mapping[str, int], wrench: str) -> DiracStructure:
    """Return the structure that applies a wrench to several ports, in addition to their efforts.

    The efforts of the inner ports are ``e_on = e + J_on^T W``; flows are shared, and the twist at
    the wrench is ``sum J_on f_on``. The efforts are constrained: there is no matrix from efforts to
    flows.

    Args:
        jacobian: (6,sum of sizes), the twist of unit flows.
        on: names and sizes of the ports it acts on, in the order of the columns.
        wrench: name of the port of the wrench.

    Returns:
        Ports ``<name>_inner`` and ``<name>`` for every name in ``on``, and the wrench.
    """
    size, rank = sum(on.values()), len(jacobian)
    # A column for every outer flow, outer effort and wrench.
    unit, zero = np.eye(size), np.zeros((size, size))
    no_wrench, no_flow = np.zeros((size, rank)), np.zeros((rank, size))
    flows = np.block(
        [
            [unit, zero, no_wrench],
            [-unit, zero, no_wrench],
            [-jacobian, no_flow, np.zeros((rank, rank))],
        ]
    )
    efforts = np.block(
        [[zero, unit, jacobian.T], [zero, unit, no_wrench], [no_flow, no_flow, np.eye(rank)]]
    )
    inner = {f"{name}_inner": of for name, of in on.items()}
    return DiracStructure({**inner, **on, wrench: rank}, frozen(flows), frozen(efforts))


def coupled_structure(form: StandardForm, x: PHState) -> DiracStructure:
    """Return the Dirac structure of a robot on any base, with named ports [A fig. 5].

    Returns:
        Ports ``p``, ``q``, ``pi``, ``potential_base``, ``potential_joints``, ``wrench_base``,
        ``torque`` and ``wrench_end_effector``, in this order, then one per tool.
    """
    b, n = form.model.b, form.model.n
    sizes = {"p": b, "q": n, "pi": n, "potential_base": b, "potential_joints": n}
    sizes |= {"wrench_base": b, "torque": n, "wrench_end_effector": 6}
    sizes |= dict.fromkeys(form.model.tools, 6)
    return DiracStructure.from_matrix(form.dirac(x), sizes)
