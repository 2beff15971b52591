# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""MuJoCo: the forward dynamics and the mass matrix of its model of the same URDF."""

from .contender import ACCELERATION, MASS_MATRIX, Contender, Problem, UnavailableError


def mujoco(problem: Problem) -> Contender:
    """Return the calls of MuJoCo.

    Raises:
        UnavailableError: MuJoCo is not installed.
    """
    try:
        import mujoco as mj

        from ..mujoco_robot import MujocoRobot
    except ImportError:
        raise UnavailableError("MuJoCo is not installed (pip install mujoco)") from None
    robot = MujocoRobot(problem.model, problem.xml, "Euler")
    robot.begin(problem.q, problem.v, 1e-3)
    robot.set_torque(problem.torque)
    return Contender(
        "MuJoCo",
        {
            ACCELERATION: {"mj_forward": robot.accelerate},
            MASS_MATRIX: {"mj_kinematics, mj_comPos, mj_crb": robot.compute_mass},
        },
        robot.joint_accelerations,
        mj.__version__,
    )
