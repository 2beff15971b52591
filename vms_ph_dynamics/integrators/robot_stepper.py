# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The common part of the schemes for robots: observations, checks and interpolation."""

from abc import abstractmethod
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import StateError
from ..evaluation import Evaluation
from ..forms import Form, PHState, Ports
from .moving_base import spatial_momentum
from .stepper import Efforts, Observation, SolverState, Stepper, StoredEnergy

# Rounding of the terms of a sum over bodies, beside one of them; and rest, m/s, see the projection.
_ROUNDING = 1e-14
_REST_SPEED = 1e-9


class RobotStepper(Stepper):
    """A scheme for a robot in one of its forms.

    Attributes:
        form: the robot.
        gravity: whether gravity acts; the same at all times.
        closes_balance: whether the energy changes by exactly the port energies that it reports.
    """

    closes_balance = False

    def __init__(self, form: Form, gravity: bool = True) -> None:
        self.form, self.model, self.gravity = form, form.model, gravity
        self.no_ports = Ports(gravity=gravity)
        self._last_energy: tuple[SolverState, StoredEnergy | None] = None, None
        # Potentials of the bodies, at heights of a metre, may cancel in the sum; and the schemes
        # drop the kinetic energy of the speed that counts as rest.
        weight = self.model.total_mass * float(np.linalg.norm(self.model.gravity))
        self._slack = _ROUNDING * self.model.nv * weight + self.model.total_mass * _REST_SPEED**2

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the robot; a copy prepares what the scheme computes with anew."""
        return type(self), (self.form, self.gravity), {"name": self.name}

    @abstractmethod
    def motion(self, solver_state: SolverState) -> tuple[Array, Array]:
        """Return configuration (nq,) and velocity (nv,) in the inertial frame."""

    def state(self, solver_state: SolverState) -> PHState:
        """Return the state in the form's momenta."""
        return self.form.state(*self.motion(solver_state))

    def stored_energy(self, solver_state: SolverState) -> StoredEnergy | None:
        """Return the energy, see :meth:`Stepper.stored_energy`."""
        if not self.closes_balance:
            return None
        # The end of one step is the beginning of the next.
        last_state, stored_energy = self._last_energy
        if last_state is not solver_state:
            d = Evaluation(self.model, *self.motion(solver_state))
            kinetic, potential = d.kinetic_energy, d.potential_energy if self.gravity else 0.0
            stored_energy = StoredEnergy(kinetic + potential, kinetic + abs(potential), self._slack)
            self._last_energy = solver_state, stored_energy
        return stored_energy

    def observe(self, solver_state: SolverState) -> Observation:
        """Return state, energy and spatial momentum, from configuration and velocity alone."""
        d = Evaluation(self.model, *self.motion(solver_state))
        energy = d.kinetic_energy + (d.potential_energy if self.gravity else 0.0)
        return Observation(self.state(solver_state), energy, spatial_momentum(d))

    def efforts_at(self, ports: Efforts, t: float, q: Array, v: Array) -> Ports:
        """Return the efforts at a time and a motion.

        Raises:
            StateError: the ports switch gravity during a run.
        """
        return self.checked(ports if isinstance(ports, Ports) else ports(t, self.form.state(q, v)))

    def checked(self, ports: Ports) -> Ports:
        """Return the efforts.

        Raises:
            StateError: the ports switch gravity during a run.
        """
        if ports.gravity is not self.gravity:
            raise StateError(
                f"ports.gravity must stay {self.gravity}, as at the start of the run; given: "
                f"{ports.gravity}. Begin a new run to switch gravity"
            )
        return ports
