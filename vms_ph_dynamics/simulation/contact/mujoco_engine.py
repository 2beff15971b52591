# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An engine whose steps MuJoCo takes, with contacts, and with energy accounting."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...actuation.friction import Friction
from ...arrays import Array, is_finite
from ...errors import ModelError
from ...forms import PHState, Ports
from ...groups import pose
from ...integrators import IntegrationError
from ...integrators.stepper import Efforts, efforts_at
from ...model import VMSModel
from ...nonholonomic import NonholonomicForm
from ..engine import Engine, PlantEffects, Prediction
from ..joint_effects import SimulatedForm
from .coordinates import Coordinates
from .mujoco_robot import RobotShape, build, free_joint_names, import_mujoco
from .scene import Scene

CONTACT = "contact"
JOINT_STOPS = "joint_stops"
MIMICS = "mimic_joints"

_CONSTRAINT_PORTS = {
    "mjCNSTR_EQUALITY": MIMICS,
    "mjCNSTR_LIMIT_JOINT": JOINT_STOPS,
    "mjCNSTR_CONTACT_FRICTIONLESS": CONTACT,
    "mjCNSTR_CONTACT_PYRAMIDAL": CONTACT,
    "mjCNSTR_CONTACT_ELLIPTIC": CONTACT,
}
"""The ports of MuJoCo's constraints; the others are dry friction."""


class MujocoEngine(Engine):
    """Steps of MuJoCo.

    The efforts of controller and ports are held over each step of MuJoCo's semi-implicit Euler
    scheme, and their energies are the efforts times the displacement. The energies of contacts,
    joint stops, friction and damping are their impulses times the mean of the velocities before
    and after, which is what they take from the kinetic energy. What is left of the balance is the
    error of MuJoCo's scheme, :meth:`.Simulation.unaccounted_energy`; the ports do not hide it.

    Attributes:
        scene: scene that surrounds the robot.
    """

    name = "mujoco"

    def __init__(self, scene: Scene | None = None, shapes: Sequence[RobotShape] = ()) -> None:
        """Choose the surroundings.

        Args:
            scene: scene that surrounds the robot; nothing when None.
            shapes: of the robot that touch the scene, besides those of its tool.

        Raises:
            MissingExtraError: MuJoCo is not installed.
        """
        self._mujoco = import_mujoco()
        self.scene, self._shapes = Scene() if scene is None else scene, shapes
        self._robot: Any = None  # a MujocoRobot, once it is assembled
        self._data: Any = None
        self._state_spec = self._mujoco.mjtState.mjSTATE_INTEGRATION

    def assemble(
        self, form: SimulatedForm, q: Array, dt: float, friction: Friction | None, has_stops: bool
    ) -> PlantEffects:
        """Build the robot and its scene; MuJoCo has friction and stops of its own.

        Raises:
            ModelError: MuJoCo cannot represent the robot.
        """
        if isinstance(form, NonholonomicForm):
            raise ModelError(
                f"the engine mujoco rolls wheels by contacts; '{form.model.name}' has wheels that "
                "do not slip, which only the engine vms_ph has"
            )
        model = form.model
        robot = build(model, self.scene, dt, friction, has_stops, self._shapes)
        data = self._mujoco.MjData(robot.model)
        if self._data is not None:  # bodies of the scene stay where they are
            for name in free_joint_names(self.scene):
                joint, last_joint = data.joint(name), self._data.joint(name)
                joint.qpos[:], joint.qvel[:] = last_joint.qpos, last_joint.qvel
        self._robot, self._data = robot, data
        self._saved_state = np.empty(self._mujoco.mj_stateSize(robot.model, self._state_spec))
        self._is_predicted = False
        self._model, self._coordinates = model, Coordinates(model, robot)
        self._frames = {
            name: model.tree.pinocchio.frames[model.tree.frame_id(name)]
            for name in (model.end_effector, *model.tools)
        }
        port_names = [CONTACT] * bool(self.scene.bodies) + [JOINT_STOPS] * has_stops
        self.ports = (*port_names, *[MIMICS] * bool(model.tree.mimics))
        return PlantEffects()

    def reset(self) -> None:
        """Return the bodies of the scene to their start."""
        self._mujoco.mj_resetData(self._robot.model, self._data)

    def start(self, q: Array, v: Array, t: float) -> None:
        """Set the motion of the robot."""
        self._coordinates.set_motion(self._data, q, v)
        self._mujoco.mj_step1(self._robot.model, self._data)
        self._motion, self._is_predicted = self._coordinates.motion(self._data), False

    def motion(self) -> tuple[Array, Array]:
        """Return the motion of the robot in the coordinates of this project."""
        return self._motion

    def predict(self, efforts: Efforts, t: float, dt: float) -> Prediction:
        """Return a step of MuJoCo.

        Raises:
            IntegrationError: it does not stay finite.
        """
        mujoco, m, data = self._mujoco, self._robot.model, self._data
        if self._is_predicted:
            self._restore_state()
        # Few steps are predicted twice: the state is kept, and its terms are computed anew then.
        mujoco.mj_getState(m, data, self._saved_state, self._state_spec)
        self._is_predicted = True
        forces = self._forces(efforts_at(efforts, t, PHState(*self._motion)), data)
        data.qfrc_applied[:] = sum(forces.values())
        v0 = data.qvel.copy()
        mujoco.mj_step2(m, data)
        if data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number or not (
            is_finite(data.qpos) and is_finite(data.qvel)
        ):
            self._restore_state()
            raise IntegrationError(f"MuJoCo's step at {t:.6g} s does not stay finite")
        displacement = dt * data.qvel
        supplied = {name: float(force @ displacement) for name, force in forces.items()}
        dissipated = self._constraint_energies(data, v0, supplied)
        mujoco.mj_step1(m, data)
        return Prediction(*self._coordinates.motion(data), supplied, dissipated, 0, None)

    def accept(
        self, step: Prediction, applied: Ports, friction: Array | None, stop_torque: Array | None
    ) -> None:
        """Go to the end of the step."""
        self._motion, self._is_predicted = (step.q, step.v), False

    def _restore_state(self) -> None:
        """Undo a predicted step."""
        mujoco, data = self._mujoco, self._data
        data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number = 0
        mujoco.mj_setState(self._robot.model, data, self._saved_state, self._state_spec)
        mujoco.mj_step1(self._robot.model, data)
        self._is_predicted = False

    def contacts(self) -> list["Contact"]:
        """Return the contacts of the robot at the start of the last step."""
        m, contacts = self._robot.model, []
        for i in range(self._data.ncon):
            contact = self._data.contact[i]
            names = [m.body(m.geom_bodyid[geom]).name for geom in contact.geom]
            is_robot = [not name.startswith("scene/") for name in names]
            if is_robot[0] == is_robot[1] or contact.efc_address < 0:
                continue
            local_wrench = np.zeros(6)
            self._mujoco.mj_contactForce(m, self._data, i, local_wrench)
            # The rows of the frame are its axes; the force acts on the second geom.
            axes = contact.frame.reshape(3, 3)
            sign = 1.0 if is_robot[1] else -1.0
            contacts.append(
                Contact(
                    names[is_robot.index(False)].removeprefix("scene/"),
                    contact.pos.copy(),
                    sign * (local_wrench[:3] @ axes),
                    sign * (local_wrench[3:] @ axes),
                    max(0.0, -float(contact.dist)),
                )
            )
        return contacts

    def contact_wrench(self) -> Array:
        """Return the wrench of all contacts at the end effector in its axes, (6,), N and N m."""
        tool_pose = self._model.evaluate(*self.motion()).placement(self._model.end_effector)
        force, moment = np.zeros(3), np.zeros(3)
        for contact in self.contacts():
            force += contact.force
            moment += np.cross(contact.point - tool_pose[:3, 3], contact.force) + contact.moment
        return np.concatenate([force @ tool_pose[:3, :3], moment @ tool_pose[:3, :3]])

    def pose_of(self, body_name: str) -> Array:
        """Return the pose of a body of the scene in the inertial frame, (4,4)."""
        if not self.scene.body(body_name).is_free:
            return self.scene.body(body_name).pose
        body_data = self._data.body(f"scene/{body_name}")
        return pose(body_data.xmat.reshape(3, 3), body_data.xpos)

    def _constraint_energies(self, data: Any, v0: Array, supplied: dict[str, float]) -> float:
        """Add the energies of constraints by port; return that of friction and damping, J.

        A step changes the velocity by ``M (v1 - v0) = h (f + J^T f_c - D v1)`` at the mass matrix
        of its start, and each part takes ``h f . (v0 + v1) / 2`` from the kinetic energy.

        Args:
            data: ``mujoco.MjData`` after the step.
            v0: (nv,) velocity before it.
            supplied: energies by port, J.
        """
        m, robot_mask, h = self._robot.model, self._robot.robot_mask, self._robot.model.opt.timestep
        mean_velocity = 0.5 * (v0 + data.qvel) * robot_mask
        dissipated = h * float((m.dof_damping * robot_mask * data.qvel) @ mean_velocity)
        if data.nefc == 0:
            return dissipated
        constraint_speeds = np.zeros(data.nefc)
        self._mujoco.mj_mulJacVec(m, data, constraint_speeds, mean_velocity)
        work, constraint_types = h * data.efc_force * constraint_speeds, data.efc_type
        for constraint_type in np.unique(constraint_types):
            energy = float(work[constraint_types == constraint_type].sum())
            port = _CONSTRAINT_PORTS.get(self._mujoco.mjtConstraint(int(constraint_type)).name)
            if port is None:
                dissipated -= energy  # dry friction
            else:
                supplied[port] = supplied.get(port, 0.0) + energy
        return dissipated

    def _forces(self, ports: Ports, data: Any) -> dict[str, Array]:
        """Return efforts as forces of MuJoCo by port."""
        model = self._model
        torque = np.zeros(model.n) if ports.torque is None else ports.torque
        forces = {"torque": self._coordinates.force(data, torque, np.zeros(model.b))}
        if ports.wrench_base is not None and model.b:
            base_wrench = ports.wrench_base
            forces["wrench_base"] = self._coordinates.force(data, np.zeros(model.n), base_wrench)
        if ports.wrench_end_effector is not None:
            force = self._force_at(model.end_effector, ports.wrench_end_effector, data)
            forces["wrench_end_effector"] = force
        for name, wrench in (ports.wrench_tools or {}).items():
            forces[name] = self._force_at(name, wrench, data)
        return forces

    def _force_at(self, name: str, wrench: Array, data: Any) -> Array:
        frame = self._frames[name]
        body = int(self._robot.bodies[frame.parentJoint])
        rotation = data.xmat[body].reshape(3, 3)
        point = data.xpos[body] + rotation @ frame.placement.translation
        frame_rotation = rotation @ frame.placement.rotation
        force = np.zeros(self._robot.model.nv)
        linear, angular = frame_rotation @ wrench[:3], frame_rotation @ wrench[3:]
        self._mujoco.mj_applyFT(self._robot.model, data, linear, angular, point, body, force)
        return force


class Contact(NamedTuple):
    """One contact.

    Attributes:
        body: name of the body of the scene.
        point: (3,) in the inertial frame, m.
        force: (3,) on the robot in the inertial frame, N.
        moment: (3,) about the point, N m.
        depth: depth of the penetration, m.
    """

    body: str
    point: Array
    force: Array
    moment: Array
    depth: float


def mjcf_text(
    robot: VMSModel, home: Array, dt: float, scene: Scene, shapes: Sequence[RobotShape] = ()
) -> str:
    """Return an MJCF with the joints' names on its motors, and the keyframe ``home``.

    Args:
        robot: on a fixed base.
        home: (nq,) configuration of the keyframe.
        dt: step, s.
        scene: scene that surrounds it.
        shapes: shapes of the robot that touch the scene.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        ModelError: MuJoCo cannot represent the robot, or its base moves.
    """
    mujoco = import_mujoco()
    if robot.b:
        raise ModelError(
            f"'{robot.name}' has a {robot.base} base, which motors of joints cannot move; simulate "
            "it with engine:=mujoco"
        )
    robot_in_mujoco = build(robot, scene, dt, Friction.from_model(robot), True, shapes)
    spec, data = robot_in_mujoco.spec, mujoco.MjData(robot_in_mujoco.model)
    Coordinates(robot, robot_in_mujoco).set_motion(data, home, np.zeros(robot.nv))
    for name in robot.joint_names:
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.set_to_motor()
    spec.add_key(name="home", qpos=data.qpos)
    spec.compile()
    return str(spec.to_xml())
