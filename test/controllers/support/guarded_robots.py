# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulated robots in closed loop with a guarded law, whose measurements a fault can change."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cache

import numpy as np

from vms_ph_controllers import Command, Reference, RobotState
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import Ports, StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation, in_world_axes
from vms_ph_io import robots

Fault = Callable[[int, np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, float]]
"""From the number of a sample, its true q and v and its time step to what is measured."""


@cache
def _model(name: str) -> VMSModel:
    return robots.load(name)


@dataclass
class Guarded:
    """A bundled robot, simulated at 1 kHz, with the effort held between samples."""

    name: str
    law: str = ""
    period: int = 1
    gains: dict[str, float] = field(default_factory=dict)
    fault: Fault = lambda k, q, v, dt: (q, v, dt)
    references: Callable[[int], Reference] = lambda k: Reference()
    commands: list[Command] = field(default_factory=list)
    speed: float = 0.0

    def __post_init__(self) -> None:
        known = robots.get(self.name)
        self.model = _model(self.name).with_native(None)
        actuated = not self.name.startswith("satellite")
        kinds = ("TaskSpaceIDAPBC", "DecoupledVMSController")
        kind = f"vms_ph_controllers.{self.law or kinds[self.model.b > 0]}"
        self.allocation = known.allocation()
        law = make_controller(kind, self.model, self.allocation, actuated)
        assert {item.name for item in fields(law.gains)} >= set(self.gains)
        law.gains = replace(law.gains, **self.gains)
        self.supervisor = Supervisor(law, self.allocation, actuated)
        self.supervisor.twin = None  # that in Python judges, also around a law in C++
        self.home = self.model.configuration(known.home, known.home_base or None)
        self.supervisor.reset(RobotState(self.home, np.zeros(self.model.nv)))
        self._tick = self._given = 0
        self._held = Command(np.zeros(self.model.b), np.zeros(self.model.n))
        self.simulation = Simulation(StandardForm(self.model), self.home, 1e-3, self._control)

    def run(self, samples: int, push: np.ndarray | None = None) -> list[Command]:
        """Go on and return the commands; ``push`` is a wrench at the end effector."""
        # The simulation asks for the efforts of the next step at the end of each.
        before, self._given = self._given, self._given + samples
        external = in_world_axes(self.model, Ports(wrench_end_effector=push))
        while len(self.commands) < self._given:
            self.simulation.advance(1, external)
        return self.commands[before : self._given]

    @property
    def velocity(self) -> np.ndarray:
        """The true velocity (nv,)."""
        return self.simulation.sample().v

    def _control(self, q: np.ndarray, v: np.ndarray, dt: float) -> Command:
        self.speed = max(self.speed, float(np.abs(v).max()))
        if self._tick % self.period == 0:
            k = len(self.commands)
            measured = self.fault(k, q.copy(), v.copy(), dt * self.period)
            state = RobotState(*measured[:2])
            self._held = self.supervisor.update(state, self.references(k), measured[2])
            self._check(self._held)
            self.commands.append(self._held)
        self._tick += 1
        return self._held

    def _check(self, command: Command) -> None:
        """Every effort is finite and within its limits, whatever was measured."""
        assert np.isfinite(command.torque).all()
        assert np.isfinite(command.wrench_base).all()
        assert (np.abs(command.torque) <= self.model.joints.effort).all()
        allocation = self.allocation
        if allocation is not None:
            thrusts = np.linalg.pinv(allocation.matrix) @ command.wrench_base
            size = 1e-6 * float(np.abs(allocation.upper).max())
            assert (thrusts >= allocation.lower - size).all()
            assert (thrusts <= allocation.upper + size).all()
