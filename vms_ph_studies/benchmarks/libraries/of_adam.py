# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Adam: the algorithms of adam-robotics as CasADi functions."""

from importlib import import_module, metadata

import numpy as np

from .contender import ACCELERATION, DERIVATIVES, MASS_MATRIX, Contender, Problem, UnavailableError


def adam(problem: Problem) -> Contender:
    """Return the calls of adam; its robots float.

    Raises:
        UnavailableError: it is not installed, or the base does not float.
    """
    try:
        computations = import_module("adam.casadi.computations").KinDynComputations
        representations = import_module("adam").Representations
        ca = import_module("casadi")
    except ImportError:
        raise UnavailableError(
            "adam is not installed (pip install 'adam-robotics[casadi]')"
        ) from None
    model = problem.model
    if model.base != "floating" or model.nq - model.nq_base != model.n:
        raise UnavailableError("adam: only floating bases without continuous joints are compared")
    gravity = np.concatenate([model.gravity, np.zeros(3)])
    robot = computations(problem.xml, list(model.joint_names), gravity=gravity)
    robot.set_frame_velocity_representation(representations.BODY_FIXED_REPRESENTATION)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = problem.base_rotation, problem.q[:3]
    state = (pose, problem.q[7:], problem.v[:6], problem.v[6:], problem.torque)
    aba, mass = robot.aba_fun(), robot.mass_matrix_fun()
    symbols = [ca.SX.sym(f"x{i}", aba.sparsity_in(i)) for i in range(aba.n_in())]
    acceleration = aba(*symbols)
    slopes = [ca.jacobian(acceleration, ca.vec(symbol)) for symbol in symbols[1:4]]
    derivatives = ca.Function("derivatives", symbols, slopes)
    return Contender(
        "adam",
        {
            ACCELERATION: {"aba_fun in CasADi": lambda: aba(*state)},
            MASS_MATRIX: {"mass_matrix_fun in CasADi": lambda: mass(pose, problem.q[7:])},
            DERIVATIVES: {"jacobian of aba_fun": lambda: derivatives(*state)},
        },
        lambda: np.array(aba(*state))[6:, 0],
        metadata.version("adam-robotics"),
    )
