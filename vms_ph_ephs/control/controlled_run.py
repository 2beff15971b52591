# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A law of this library in a box at the ports of a robot of bodies and joints, step by step."""

from collections.abc import Callable

import numpy as np

from vms_ph_controllers.controller import Command, Controller, Reference, RobotState
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.arrays import Array

from .. import Equations, assemble
from ..multibody import configuration_of, state_of
from ..multibody.pinocchio_joints import body_names, joint_name
from ..multibody.urdf import from_pinocchio
from ..simulation import Simulation
from ..systems import System
from .certificate import Breach, PassivityCertificate
from .controller_box import controlled

Storage = Callable[[Command, Array, Array], float]
"""The energy that a law stores, J, from its command, q (nq,) and v (nv,)."""


def shaped_storage(model: VMSModel) -> Storage:
    """Return the storage of laws with a shaped potential: it, the tank, less the robot's own.

    Args:
        model: the robot, whose potential energy is taken off.
    """

    def stored(command: Command, q: Array, v: Array) -> float:
        own = model.evaluate(q, v).potential_energy
        return command.energy.shaped_potential + command.energy.tank_level - own

    return stored


def tank_storage(model: VMSModel) -> Storage:
    """Return the storage of laws behind a tank of their own: its level, less the potential.

    Args:
        model: the robot, whose potential energy is taken off.
    """

    def stored(command: Command, q: Array, v: Array) -> float:
        return command.energy.tank_level - model.evaluate(q, v).potential_energy

    return stored


class ControlledRun:
    """The motion of a robot with a law in a box at its ports, certified at every step.

    The robot is a system of bodies and joints, the law a box whose ports are those of the joints
    and of a moving base, and whose store loses exactly what they receive. Actuators of the base are
    ideal: its wrench is the one that the law commands. A robot in a fluid heats it by its drag.

    A step is certified when the law has been called at its end, since the energy that the law
    stores is in its command. A reference that moves gives energy too: only a law with a tank, from
    which it is taken, is passive then.

    Args:
        law: of this library or your own.
        q: (nq,) configuration at the start, at rest.
        dt: step, s, over which the efforts are held.
        held: (nq,) configuration at which the law is reset, whose pose it then holds; q when None.
        storage: of the law; :func:`shaped_storage` when None.
        tolerance: of the certificate, J.
        scheme: of the integration, see :class:`~vms_ph_ephs.Simulation`.

    Attributes:
        system: the composition, with the boxes ``robot`` and ``controller``.
        equations: of it.
        certificate: of all steps so far.
        command: the last one.

    Raises:
        ModelError: bodies and joints cannot represent the robot, or the law commands efforts of
            another size.
    """

    def __init__(
        self,
        law: Controller,
        q: Array,
        dt: float = 1e-3,
        *,
        held: Array | None = None,
        storage: Storage | None = None,
        tolerance: float = 1e-9,
        scheme: str = "projected_rk4",
    ) -> None:
        model = law.model
        self._law, self._model, self._dt = law, model, dt
        self._stored = shaped_storage(model) if storage is None else storage
        full = model.tree.pinocchio
        robot = from_pinocchio(full, model.tree.mimics, fluid=model.fluid)
        ports = tuple(map(joint_name, model.joint_names))
        # From the origin of the base, where laws act, to the port of a free body.
        self._lever = np.zeros(3)
        if model.base == "floating":
            ports, self._lever = (body_names(full)[1], *ports), np.array(full.inertias[1].lever)
        elif model.b:
            ports = (joint_name(full.names[1]), *ports)
        self.system: System = controlled(robot, ports)
        self.equations: Equations = assemble(self.system)
        law.reset(RobotState(q if held is None else held, np.zeros(model.nv)))
        x = state_of(self.equations, model, q, np.zeros(model.nv), box="robot")
        self._simulation = Simulation(self.equations, x, dt, scheme=scheme)  # type: ignore[arg-type]
        states = self.equations.layout.states
        junctions = self.equations.layout.junctions
        self._store = states[junctions["controller.store.store"]].at.start
        self._efforts = states[junctions["controller.hold.efforts"]].at
        self.command = self._call(Reference())
        first = self._stored(self.command, *self.motion())
        self._simulation.replace_entries(self._store, first)
        self.certificate = PassivityCertificate(first, tolerance)

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self._simulation.t

    @property
    def store(self) -> float:
        """Energy that the box may still give, J."""
        return float(self._simulation.x[self._store])

    def motion(self) -> tuple[Array, Array]:
        """Return configuration (nq,) and velocity (nv,)."""
        return configuration_of(self.equations, self._model, self._simulation.x, box="robot")

    def advance(self, steps: int, reference: Reference | None = None) -> list[Breach]:
        """Take steps, and return those that are not passive.

        Args:
            steps: their number.
            reference: of the law, given in the first of them.

        Raises:
            SimulationError: the motion cannot be continued.
        """
        found = []
        for k in range(steps):
            before = self.store
            self._simulation.step()
            given = before - self.store
            self.command = self._call(
                reference if k == 0 and reference is not None else Reference()
            )
            storage = self._stored(self.command, *self.motion())
            breach = self.certificate.step(self._simulation.t, given, storage)
            if breach is not None:
                found.append(breach)
        return found

    def _call(self, reference: Reference) -> Command:
        command = self._law.update(RobotState(*self.motion()), reference, self._dt)
        efforts = np.concatenate([self._base_wrench(command), command.torque])
        self._simulation.replace_entries(self._efforts, efforts)
        return command

    def _base_wrench(self, command: Command) -> Array:
        model, wrench = self._model, np.asarray(command.wrench_base, dtype=np.float64)
        if wrench.shape != (model.b,) or command.torque.shape != (model.n,):
            raise ModelError(
                f"the law commands a base wrench of shape {wrench.shape} and torques of shape "
                f"{command.torque.shape}; '{model.name}' takes ({model.b},) and ({model.n},)"
            )
        if model.b != 6:
            return wrench
        return np.concatenate([wrench[:3], wrench[3:] - np.cross(self._lever, wrench[:3])])
