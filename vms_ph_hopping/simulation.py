# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated leg on a floor with a controller in the loop."""

from collections.abc import Callable
from dataclasses import replace
from math import isfinite

import numpy as np

from vms_ph_dynamics import Array, Ports, VMSModel, VmsPhError
from vms_ph_dynamics.forms import PORTS
from vms_ph_dynamics.simulation import Actuation, Control, Sample, WorldFramePorts

from .hopper import Hopper
from .leg import Floor, Leg, LegState, Phase
from .leg_on_floor import LegEfforts, LegLaw, LegOnFloor, Push

_PLANE_ROWS = [0, 1, 5]


class HoppingSimulation:
    """Integrates a leg through its hops, with the interface of ``Simulation``.

    A law in continuous time is evaluated within the steps of the integrator; the efforts of any
    other law are held over each control step. The floor is part of the port at the end effector.

    Attributes:
        dt: control step, s.
        resets: number of resets to the start.
        failures: always 0; the integrator adapts the length of its own steps.
        failure: why the simulation cannot go on from its last state; empty while it can.
    """

    def __init__(
        self,
        model: VMSModel,
        q: Array,
        dt: float,
        control: Control | None,
        law: Callable[[], LegLaw | None] | None = None,
        floor: Floor | None = None,
        start_velocity: Array | None = None,
        tolerance: float = 1e-7,
    ) -> None:
        """Start at rest, or with a velocity.

        Args:
            model: of the leg.
            q: (nq,) where to start, also after a reset.
            dt: control step, s.
            control: called with the state at the end of every control step; None for none.
            law: returns the law in continuous time, or None if there is none.
            floor: that of [B] when None.
            start_velocity: (nv,) at the start and after a reset; zero when None.
            tolerance: of the error of a step, see :class:`.Hopper`.

        Raises:
            ModelError: the robot is not a leg.
        """
        self._leg, self._home, self.dt = Leg(model), q, dt
        self._start_v = np.zeros(model.nv) if start_velocity is None else start_velocity
        self._control, self._law, self._tolerance = control, law, tolerance
        self._floor = Floor() if floor is None else floor
        self.resets, self.failures = -1, 0
        self.reset()

    def reset(self) -> None:
        """Return to the start, with all port energies at zero."""
        self._external_ports = Ports()
        self._system = LegOnFloor(self._leg, LegLaw(self._efforts), self._floor)
        self._hopper = Hopper(self._system, self._home, self._start_v, tolerance=self._tolerance)
        self._steps, self.failure = 0, ""
        self._step_command: Actuation | None = None
        self.resets += 1
        self._update_control(self.dt)

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self._steps * self.dt

    @property
    def steps(self) -> int:
        """Steps since the last reset."""
        return self._steps

    def advance(self, steps: int, external: Ports | WorldFramePorts | None = None) -> None:
        """Integrate a number of steps; ``external`` acts from their end on, if given.

        A step that fails leaves the simulation at its last state, with the reason in ``failure``;
        it goes on after a :meth:`reset`.
        """
        if self.failure:
            return
        is_continuous = self._continuous_law is not None
        # Held efforts are computed again at every control step.
        for step_count in [steps] if is_continuous or self._control is None else [1] * steps:
            self._steps += step_count
            try:
                # The integrator checks that the motion is finite.
                with np.errstate(over="ignore", invalid="ignore"):
                    for _ in self._hopper.steps_until(self.time):
                        pass
            except VmsPhError as error:
                self._steps -= step_count
                self.failure = str(error)
                return
            self._update_control(step_count * self.dt)
        if external is None:
            return
        is_in_world = isinstance(external, WorldFramePorts)
        ports = external.ports if isinstance(external, WorldFramePorts) else external
        self._external_ports = ports
        wrench, push = ports.wrench_end_effector, None
        if wrench is not None and wrench[_PLANE_ROWS].any():
            push = Push(wrench[_PLANE_ROWS], not is_in_world)
        self._system.push = push

    def sample(self) -> Sample:
        """Return the present motion, efforts and port energies."""
        leg, y = self._system.leg_state(self._hopper.state), self._hopper.state
        force = self._efforts(leg, self._hopper.phase is not Phase.FLIGHT).force
        floor_force = self._system.floor_force(self._hopper.phase, leg, y)
        foot_force = np.array([floor_force.tangential, floor_force.normal, 0.0])
        if self._system.push is not None:
            foot_force = foot_force + self._system.push.at(leg)
        wrench = np.zeros(6)
        wrench[:2], wrench[5] = leg.foot_axes.T @ foot_force[:2], foot_force[2]
        energies = dict(zip(self._system.channels, self._hopper.energies, strict=True))
        by_port = (energies["joint"], energies["external"], energies["floor"] + energies["push"])
        port_energy = {name: float(value) for name, value in zip(PORTS, by_port, strict=True)}
        b = self._leg.model.b
        return Sample(self.time, leg.q, leg.v, force[b:], force[:b], wrench, port_energy, 0.0)

    def is_finite(self) -> bool:
        """Return whether the state is finite and the integrator has not failed."""
        return not self.failure and isfinite(float(self._hopper.state.sum()))

    def _update_control(self, duration: float) -> None:
        """Call the controller, also for a law in continuous time, to update its records.

        Args:
            duration: time since the last call, s; a continuous law is called at samples only.
        """
        self._continuous_law = None if self._law is None else self._law()
        if self._control is not None:
            leg = self._system.leg_state(self._hopper.state)
            self._step_command = self._control(leg.q, leg.v, duration)

    def _efforts(self, leg: LegState, is_stance: bool) -> LegEfforts:
        if self._continuous_law is None:
            efforts = LegEfforts(self._generalised_force(self._step_command), (), 0.0)
        else:
            efforts = self._continuous_law.efforts(leg, is_stance)
        force = efforts.force + self._generalised_force(self._external_ports)
        return replace(efforts, force=force, powers=())

    def _generalised_force(self, efforts: Actuation | None) -> Array:
        """Return base wrench and joint torques as one generalised force, (nv,)."""
        force, b = np.zeros(self._leg.model.nv), self._leg.model.b
        if efforts is not None and efforts.wrench_base is not None:
            force[:b] = efforts.wrench_base
        if efforts is not None and efforts.torque is not None:
            force[b:] = efforts.torque
        return force
