# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulation whose steps MuJoCo takes, with contacts, and with energy accounting."""

from collections.abc import Sequence

import numpy as np

from ...actuation.friction import Friction
from ...arrays import Array
from ...forms import StandardForm, port_names
from ...model import VMSModel
from .. import Control, External, Simulation, ToolWrench
from .contact_books import CONTACT, JOINT_STOPS, MIMICS, ContactBooks
from .contacts import Contact, contacts_of
from .coordinates import Coordinates
from .mujoco_robot import RobotShape, build, import_mujoco
from .scene import Scene


class MujocoSimulation(Simulation):
    """Steps of MuJoCo with the interface of :class:`Simulation`.

    The efforts of controller and ports are held over each step of MuJoCo's semi-implicit Euler
    scheme, and their energies are the efforts times the displacement. The energies of contacts,
    joint stops, friction and damping are their impulses times the mean of the velocities before
    and after, which is what they take from the kinetic energy. What is left of the balance is the
    error of MuJoCo's scheme, :meth:`unaccounted`; the ports do not hide it.

    Attributes:
        scene: what surrounds the robot.
    """

    def __init__(
        self,
        model: VMSModel,
        q: Array,
        dt: float,
        control: Control | None,
        friction: bool = False,
        scene: Scene | None = None,
        shapes: Sequence[RobotShape] = (),
        joint_stops: bool = True,
    ) -> None:
        """Start at rest.

        Args:
            model: the robot.
            q: (nq,) configuration at the start and after a reset.
            dt: integrator and control step, s.
            control: the controller in the loop; None for external efforts alone.
            friction: whether the joints' friction acts; Coulomb's is MuJoCo's, which sticks.
            scene: what surrounds the robot; nothing when None.
            shapes: of the robot that touch the scene, besides those of its tool.
            joint_stops: whether the joints' limits are stops.

        Raises:
            MissingExtraError: MuJoCo is not installed.
            ModelError: MuJoCo cannot represent the robot.
        """
        self._mujoco = import_mujoco()
        self._form, self._home, self.dt = StandardForm(model), q, dt
        self._control = control
        self.scene = Scene() if scene is None else scene
        acting = Friction.of(model) if friction else None
        self._robot = build(model, self.scene, dt, acting, joint_stops, shapes)
        self._ports_beyond = [CONTACT] * bool(self.scene.bodies)
        self._ports_beyond += [JOINT_STOPS] * joint_stops + [MIMICS] * bool(model.tree.mimics)
        self._data = self._mujoco.MjData(self._robot.model)
        self._books = ContactBooks(self._mujoco, self._robot)
        self._coordinates = Coordinates(model, self._robot)
        self._frames = {
            name: model.tree.pinocchio.frames[model.tree.frame_id(name)]
            for name in (model.end_effector, *model.tools)
        }
        self.resets = -1
        self.reset()

    def reset(self) -> None:
        """Return to the start, at rest, without external efforts; port energies begin at zero."""
        model = self._form.model
        self._external = External()
        self._mujoco.mj_resetData(self._robot.model, self._data)
        self._coordinates.put(self._data, self._home, np.zeros(model.nv))
        self._mujoco.mj_step1(self._robot.model, self._data)
        self._q, self._v = self._coordinates.motion(self._data)
        self._steps, self.failures, self.failure = 0, 0, ""
        names = (*port_names(model), *self._ports_beyond)
        self._port_energy = dict.fromkeys(names, 0.0)
        self._dissipated = 0.0
        self._stored_at_start = self._energy()
        self.resets += 1
        self._acting = self._efforts()
        self._before = self._acting

    def advance(self, steps: int, external: External) -> None:
        """Take a number of steps; ``external`` acts from their end on, at the next sample.

        A step that fails leaves the simulation at its last state, with the reason in ``failure``;
        it goes on after a :meth:`reset`.

        Args:
            steps: their number.
            external: efforts besides those of the controller.
        """
        mujoco, m, data = self._mujoco, self._robot.model, self._data
        for k in range(0 if self.failure else steps):
            self._before = self._acting
            forces = self._forces()
            data.qfrc_applied[:] = sum(forces.values())
            before = data.qvel.copy()
            mujoco.mj_step2(m, data)
            if data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number or not (
                np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()
            ):
                self.failure = f"MuJoCo's step at {self.time:.6g} s does not stay finite"
                return
            self._steps += 1
            moved = self.dt * data.qvel
            for name, force in forces.items():
                self._port_energy[name] += float(force @ moved)
            entry = self._books.entry(data, before)
            for name, energy in entry.by_port.items():
                if name in self._port_energy:
                    self._port_energy[name] += energy
            self._dissipated += entry.dissipated
            mujoco.mj_step1(m, data)
            self._q, self._v = self._coordinates.motion(data)
            if k == steps - 1:
                self._external = external
            self._acting = self._efforts()

    def unaccounted(self) -> float:
        """Return the energy that the errors of MuJoCo's steps have created since the reset, J."""
        stored = self._energy() - self._stored_at_start
        return stored - sum(self._port_energy.values()) + self._dissipated

    def contacts(self) -> list[Contact]:
        """Return the contacts of the robot in the last step."""
        return contacts_of(self._mujoco, self._robot, self.scene, self._data)

    def contact_wrench(self) -> Array:
        """Return the wrench of all contacts at the end effector in its axes, (6,), N and N m."""
        model = self._form.model
        place = model.evaluate(self._q, self._v).placement(model.end_effector)
        force, moment = np.zeros(3), np.zeros(3)
        for contact in self.contacts():
            force += contact.force
            moment += np.cross(contact.point - place[:3, 3], contact.force) + contact.moment
        return np.concatenate([force @ place[:3, :3], moment @ place[:3, :3]])

    def pose_of(self, body: str) -> Array:
        """Return the pose of a body of the scene in the inertial frame, (4,4)."""
        if not self.scene.body(body).is_free:
            return self.scene.body(body).pose
        found = self._data.body(f"scene/{body}")
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = found.xmat.reshape(3, 3), found.xpos
        return pose

    def _energy(self) -> float:
        d = self._form.model.evaluate(self._q, self._v)
        return d.kinetic_energy + d.potential_energy

    def _forces(self) -> dict[str, Array]:
        """Return the efforts that act, as forces of MuJoCo by port."""
        efforts, data, b = self._before, self._data, self._form.model.b
        nothing = np.zeros(b)
        torque = self._coordinates.force(data, efforts.torque, nothing)
        forces = {"torque": torque}
        if b:
            still = np.zeros(self._form.model.n)
            forces["wrench_base"] = self._coordinates.force(data, still, efforts.wrench_base)
        for name, wrench in efforts.wrenches.items():
            port = "wrench_end_effector" if name == self._form.model.end_effector else name
            forces[port] = self._force_at(name, wrench)
        return forces

    def _force_at(self, name: str, wrench: ToolWrench) -> Array:
        frame, data = self._frames[name], self._data
        body = int(self._robot.bodies[frame.parentJoint])
        rotation = data.xmat[body].reshape(3, 3)
        point = data.xpos[body] + rotation @ frame.placement.translation
        value = wrench.value
        if wrench.in_tool_axes:
            turn = rotation @ frame.placement.rotation
            value = np.concatenate([turn @ value[:3], turn @ value[3:]])
        force = np.zeros(self._robot.model.nv)
        self._mujoco.mj_applyFT(self._robot.model, data, value[:3], value[3:], point, body, force)
        return force
