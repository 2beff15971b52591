# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers as boxes of exergetic systems, with a certificate of their passivity."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vms_ph_controllers.controller import Command, Controller, Reference, RobotState
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.arrays import Array

from . import (
    Component,
    Equations,
    PatternError,
    Port,
    Quantity,
    Storage,
    System,
    assemble,
    compose,
)
from .components import BracketLaw, Held
from .multibody.bridge import Coordinates
from .multibody.urdf import body_names, from_pinocchio, joint_name
from .patterns import power, state
from .quantities import Euclidean, R
from .simulation import Simulation


@dataclass(frozen=True, slots=True)
class Breach:
    """A step in which a controller gave more than its storage lost.

    Attributes:
        step: its number, from zero on.
        time: at its end, s.
        supplied: energy given through the ports in it, J.
        lost: energy that the storage lost in it, J.
    """

    step: int
    time: float
    supplied: float
    lost: float

    @property
    def excess(self) -> float:
        """Energy that came from nowhere, J."""
        return self.supplied - self.lost


class PassivityCertificate:
    """Checks that the energy given at the ports of a controller is bounded by its storage.

    In every step the energy given must not exceed what the storage lost, ``W <= S_k - S_k+1``, so
    that at all times ``W <= S_0 - S``: what has been given is never more than was stored.

    Args:
        storage: at the beginning, J.
        tolerance: accepted excess in a step, J, for rounding and the error of the scheme.

    Attributes:
        steps: number of steps seen.
        supplied: energy given so far, J.
        breaches: all steps in which the condition failed.
        least: smallest energy by which a step kept the condition, J; negative if one failed.
    """

    def __init__(self, storage: float, tolerance: float = 1e-9) -> None:
        self._first = self._last = storage
        self._tolerance = tolerance
        self.steps, self.supplied, self.least = 0, 0.0, float("inf")
        self.breaches: list[Breach] = []

    def step(self, time: float, supplied: float, storage: float) -> Breach | None:
        """Check a step, and return its breach or None.

        Args:
            time: at its end, s.
            supplied: energy given through the ports in it, J.
            storage: at its end, J.
        """
        lost = self._last - storage
        self.least = min(self.least, lost - supplied)
        self.supplied += supplied
        breach = None
        # A storage that is not a number keeps nothing.
        if not supplied - lost <= self._tolerance:
            breach = Breach(self.steps, time, supplied, lost)
            self.breaches.append(breach)
        self._last = storage
        self.steps += 1
        return breach

    @property
    def holds(self) -> bool:
        """Whether every step so far has kept the condition."""
        return not self.breaches

    @property
    def dissipated(self) -> float:
        """Energy that the controller has taken and does not store, J."""
        return self._first - self._last - self.supplied

    def __str__(self) -> str:
        """Return the certificate as a sentence."""
        if self.holds:
            return (
                f"passive in all {self.steps} steps: {self.supplied:.6g} J given, "
                f"{self._first - self._last:.6g} J less stored, {self.dissipated:.6g} J dissipated"
            )
        first = self.breaches[0]
        return (
            f"not passive: step {first.step}, at {first.time:.6g} s, gave {first.supplied:.6g} J "
            f"while the storage lost {first.lost:.6g} J ({first.excess:.3g} J from nowhere); "
            f"{len(self.breaches)} of {self.steps} steps failed"
        )


STORE, EFFORTS = "store", "efforts"

_energy = Quantity(R, "energy")


class ZeroOrderHold(BracketLaw):
    """The Dirac structure ``f = -tau, f_store = tau . u`` of efforts tau that are held.

    What passes into the joints at the velocities u is what leaves the store, for every effort: the
    matrix is skew. The efforts are a state without energy, which is set between steps.

    Args:
        ports: of the joints, by name.
    """

    def __init__(self, ports: Mapping[str, Port]) -> None:
        width = sum(port.quantity.space.dimension for port in ports.values())
        self.efforts = Quantity(Euclidean(width), "held efforts")
        super().__init__(
            {**ports, STORE: power(_energy), EFFORTS: state(self.efforts)}, reads=(EFFORTS,)
        )

    def law(self, m: Any, states: Any, e: Any) -> list[Any]:
        """Return the forces into the joints and the power out of the store."""
        tau = states[0]
        return [*(-e[-1] * t for t in tau), sum(t * u for t, u in zip(tau, e[:-1], strict=True))]


def controller_box(ports: Mapping[str, Port]) -> System:
    """Return a controller with some joint ports, whose boxes are ``law``, ``store`` and ``hold``.

    The state ``store`` is the energy that it may still give, J, and ``efforts`` are the forces that
    it holds, in the order of the ports.

    Args:
        ports: of the joints, by name, as in the interface of a mechanism.
    """
    law = ZeroOrderHold(ports)
    content = Storage({STORE: power(_energy)}, lambda e: e, lambda e: np.ones(1))
    junctions: dict[str, tuple[str, ...]] = {name: (f"law.{name}", name) for name in ports}
    junctions[STORE] = (f"law.{STORE}", f"store.{STORE}")
    junctions[EFFORTS] = (f"law.{EFFORTS}", f"hold.{EFFORTS}")
    boxes: dict[str, System | Component] = {
        "law": law,
        "store": content,
        "hold": Held({EFFORTS: power(law.efforts)}),
    }
    return compose(boxes, junctions, list(ports))


def controlled(robot: System, joints: tuple[str, ...]) -> System:
    """Return a robot in the box ``robot`` with a controller at some of its ports.

    Args:
        robot: a mechanism; its other ports stay open, under their names.
        joints: names of the ports that the controller has.

    Raises:
        PatternError: the robot lacks one of them.
    """
    for name in joints:
        if name not in robot.interface:
            raise PatternError(
                f"the robot has no port '{name}' for a controller; it has "
                f"{', '.join(robot.interface)}"
            )
    box = controller_box({name: robot.interface[name] for name in joints})
    junctions: dict[str, tuple[str, ...]] = {
        name: (f"robot.{name}", f"controller.{name}") for name in joints
    }
    rest = [name for name in robot.interface if name not in joints]
    junctions |= {name: (f"robot.{name}", name) for name in rest}
    return compose({"robot": robot, "controller": box}, junctions, rest)


StoredEnergy = Callable[[Command, Array, Array], float]
"""The energy that a law stores, J, from its command, q (nq,) and v (nv,)."""


def shaped_storage(model: VMSModel) -> StoredEnergy:
    """Return the storage of laws with a shaped potential: it, the tank, less the robot's own.

    Args:
        model: the robot, whose potential energy is taken off.
    """

    def stored(command: Command, q: Array, v: Array) -> float:
        potential = model.evaluate(q, v).potential_energy
        return command.energy.shaped_potential + command.energy.tank_level - potential

    return stored


def tank_storage(model: VMSModel) -> StoredEnergy:
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
        target: Array | None = None,
        storage: StoredEnergy | None = None,
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
        law.reset(RobotState(q if target is None else target, np.zeros(model.nv)))
        self._coordinates = Coordinates(self.equations, model, "robot")
        x = self._coordinates.state(q, np.zeros(model.nv))
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
        return self._coordinates.motion(self._simulation.x)

    def advance(self, steps: int, reference: Reference | None = None) -> list[Breach]:
        """Take steps, and return those that are not passive.

        Args:
            steps: their number.
            reference: of the law, given in the first of them.

        Raises:
            SimulationError: the motion cannot be continued.
        """
        breaches = []
        for k in range(steps):
            before = self.store
            self._simulation.step()
            supplied = before - self.store
            self.command = self._call(
                reference if k == 0 and reference is not None else Reference()
            )
            storage = self._stored(self.command, *self.motion())
            breach = self.certificate.step(self._simulation.t, supplied, storage)
            if breach is not None:
                breaches.append(breach)
        return breaches

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
