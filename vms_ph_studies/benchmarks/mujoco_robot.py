# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in MuJoCo with one of its integrators, in the coordinates of this project."""

import numpy as np

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.simulation.contact.coordinates import Coordinates
from vms_ph_dynamics.simulation.contact.mujoco_robot import build, import_mujoco
from vms_ph_dynamics.simulation.contact.scene import Scene


class FreeRobot:
    """Motion of a robot in MuJoCo, without contacts, and without limits unless it has friction.

    Attributes:
        model: of MuJoCo.
    """

    def __init__(self, robot: VMSModel, integrator: str, friction: Friction | None = None) -> None:
        """Build the robot.

        Args:
            robot: the robot.
            integrator: of MuJoCo.
            friction: in the joints, whose limits then are stops; None for neither.

        Raises:
            MissingExtraError: MuJoCo is not installed.
        """
        self._mujoco, self._robot = import_mujoco(), robot
        self._mujoco_robot = build(robot, Scene(), 1e-3, friction, friction is not None)
        self.model = self._mujoco_robot.model
        if friction is None:
            self.model.opt.disableflags |= self._mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        integrators = self._mujoco.mjtIntegrator
        self.model.opt.integrator = getattr(integrators, f"mjINT_{integrator.upper()}")
        self._data = self._mujoco.MjData(self.model)
        self._coordinates = Coordinates(robot, self._mujoco_robot)

    def begin(self, q: Array, v: Array, dt: float) -> None:
        """Set configuration (nq,), velocity (nv,) and step, s."""
        self._mujoco.mj_resetData(self.model, self._data)
        self.model.opt.timestep = dt
        self._coordinates.set_motion(self._data, q, v)

    def advance(self, count: int) -> None:
        """Perform a number of steps without returning to Python in between."""
        self._mujoco.mj_step(self.model, self._data, count)

    def motion(self) -> tuple[Array, Array]:
        """Return configuration and velocity."""
        return self._coordinates.motion(self._data)

    def kinetic_energy(self) -> float:
        """Return MuJoCo's kinetic energy of the present state, J."""
        self._mujoco.mj_forward(self.model, self._data)
        self._mujoco.mj_energyVel(self.model, self._data)
        return float(self._data.energy[1])

    def set_torque(self, torque: Array) -> None:
        """Set the torques (n,) that act from now on, N m or N."""
        wrench = np.zeros(self._robot.b)
        self._data.qfrc_applied[:] = self._coordinates.force(self._data, torque, wrench)

    def accelerate(self) -> None:
        """Compute the accelerations of the present state."""
        self._mujoco.mj_forward(self.model, self._data)

    def joint_accelerations(self) -> Array:
        """Return the accelerations of the joints, (n,)."""
        self.accelerate()
        return np.array(self._data.qacc[self._mujoco_robot.joints_v])

    def compute_mass_matrix(self) -> None:
        """Compute the mass matrix of the present configuration, sparse."""
        self._mujoco.mj_kinematics(self.model, self._data)
        self._mujoco.mj_comPos(self.model, self._data)
        self._mujoco.mj_crb(self.model, self._data)
