# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An arm with servos and a wall in MuJoCo, with the interface of LeRobot, in degrees."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.simulation.contact.mujoco_robot import build
from vms_ph_dynamics.simulation.contact.scene import Body, Scene, Shape
from vms_ph_io import load_urdf, robots

FPS = 30
STEP = 5e-4  # s, of MuJoCo
TOOL, THICKNESS = 0.02, 0.1  # m: radius of the tool, wall


@dataclass(frozen=True)
class Kind:
    """An arm whose weight its servos carry.

    Attributes:
        stiffness, damping: stated of the servos, N m/rad and N m s/rad.
        home: where episodes begin, rad.
        armature: of the rotors behind their gears, kg m^2.
    """

    model: VMSModel
    stiffness: np.ndarray
    damping: np.ndarray
    home: np.ndarray
    armature: float


def so101() -> Kind:
    file = "package://example-robot-data/robots/so_arm_description/urdf/so101.urdf"
    model = load_urdf(file, base="fixed", locked_joints=["gripper"]).without_gravity()
    stiffness = np.full(5, 17.8)
    return Kind(model, stiffness, 0.05 * stiffness, np.array([0, -0.4, 0.5, 0.6, 0]), 0.028)


def panda() -> Kind:
    model = robots.load("panda").without_gravity()
    stiffness = np.array([600.0, 600, 600, 600, 250, 150, 50])
    return Kind(model, stiffness, 0.1 * stiffness, np.array(model.home), 0.1)


class MujocoArm:
    """An arm with position servos of MuJoCo, and a wall, which only the tool touches.

    Args:
        kind: of the arm.
        errors: (n,) relative, of the stated stiffness.
        wall: (3,) a point of its surface, whose normal is -y, m.

    Attributes:
        time: s.
        to_wall: energy that the wall has taken, by MuJoCo's contact forces and velocities, J.
        largest: the largest of it, J.
    """

    def __init__(self, kind: Kind, errors: np.ndarray, wall: np.ndarray) -> None:
        self.kind, self.model = kind, kind.model
        pose = np.eye(4)
        pose[:3, 3] = wall + np.array([0.0, 0.5 * THICKNESS, 0.0])
        body = Body("wall", (Shape("box", (2.0, THICKNESS, 2.0)),), pose)
        scene = Scene(bodies=(body,), tool=(Shape("sphere", (TOOL,)),))
        spec = build(kind.model, scene, STEP, None, False).spec
        true = (1.0 + errors) * kind.stiffness
        for name, k, d in zip(kind.model.joint_names, true, kind.damping, strict=True):
            servo = spec.add_actuator(
                target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT, name=f"servo {name}"
            )
            servo.set_to_position(kp=k, kv=d)
            limit = kind.model.joints.effort[kind.model.joint_names.index(name)]
            servo.forcelimited, servo.forcerange = True, [-limit, limit]
        self._mujoco = spec.compile()
        self._mujoco.dof_armature[:] = kind.armature
        self._data = mujoco.MjData(self._mujoco)
        self.keys = [f"{name}.pos" for name in kind.model.joint_names]
        self.action_features = self.observation_features = dict.fromkeys(self.keys, float)
        self.time = self.to_wall = self.largest = 0.0

    @property
    def q(self) -> np.ndarray:
        return np.array(self._data.qpos)

    def tool(self) -> np.ndarray:
        """Position of the end effector, (3,) m."""
        return self.model.placement(self.model.end_effector, self.q)[:3, 3]

    def connect(self) -> None:
        self._data.qpos[:] = self._data.ctrl[:] = self.kind.home
        mujoco.mj_forward(self._mujoco, self._data)

    def get_observation(self) -> dict[str, float]:
        return dict(zip(self.keys, np.degrees(self.q).tolist(), strict=True))

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        command = np.radians([action[key] for key in self.keys])
        if np.isfinite(command).all():  # else the servos keep the last one
            self._data.ctrl[:] = command
        for _ in range(round(1.0 / FPS / STEP)):
            before = self._data.qvel.copy()
            mujoco.mj_step(self._mujoco, self._data)
            mean = 0.5 * (before + self._data.qvel)  # of which an impulse takes its work
            self.to_wall -= STEP * float(self._data.qfrc_constraint @ mean)
            self.largest = max(self.largest, self.to_wall)
        self.time = float(self._data.time)
        return action


def reach(kind: Kind, target: np.ndarray) -> np.ndarray:
    """Positions (n,) of the joints that bring the end effector to a place, rad."""
    model, q = kind.model.pinocchio, kind.home.copy()
    data = model.createData()
    for _ in range(100):
        pin.framesForwardKinematics(model, data, q)
        error = target - data.oMf[kind.model.end_effector_id].translation
        jacobian = pin.computeFrameJacobian(
            model, data, q, kind.model.end_effector_id, pin.LOCAL_WORLD_ALIGNED
        )[:3]
        q = q + jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + 1e-4 * np.eye(3), error)
    return q
