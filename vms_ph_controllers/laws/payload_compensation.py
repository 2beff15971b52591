# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The weight of an observed payload in the gravity term of any law."""

from dataclasses import replace

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..controller import Command, Controller, LawWrapper, Reference, RobotState, is_usable_step
from ..observers import Payload

# Largest standard deviation of the mass of a payload that is compensated, as a share of the mass.
_LARGEST_DEVIATION = 0.2


class PayloadCompensation(LawWrapper):
    """A law whose efforts carry the weight of a payload as well.

    ``f + J^T (m g, m c x g)`` with the efforts f of the law, the Jacobian J of the end effector and
    gravity g in its axes. The weight is a force with a potential, so that neither the stability
    nor the energy tank of the law depend on it. The parameters in force follow :attr:`payload` at a
    bounded rate; a payload of which the mass is not known to a fifth is not taken.

    Attributes:
        law: the law itself; its gains are those of this object.
        payload: the payload observed last; None for none.
        rate: largest change of the mass in force, kg/s.
    """

    def __init__(self, law: Controller, rate: float = 2.0) -> None:
        """Compensate a payload beside a law.

        Args:
            law: the law.
            rate: largest change of the mass in force, kg/s.
        """
        self._wrap(law)
        self.payload: Payload | None = None
        self.rate = rate
        self._applied = np.zeros(4)

    @property
    def mass(self) -> float:
        """Mass in force, kg."""
        return float(self._applied[0])

    def reset(self, state: RobotState) -> None:
        """Restart the law; the payload stays in force."""
        self.law.reset(state)

    def resume(self, state: RobotState) -> None:
        """Continue the law at another pose; see :meth:`Controller.resume`."""
        self.law.resume(state)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command of the law with the weight of the payload."""
        command = self.law.update(state, reference, dt)
        if not (state.is_usable(self.model) and is_usable_step(dt)):
            return command
        self._follow(dt)
        return self._loaded(command, state.q)

    def safe_output(self, q: Array) -> Command:
        """Return the safe output of the law with the weight of the payload."""
        command = self.law.safe_output(q)
        usable = RobotState(q, np.zeros(self.model.nv)).is_usable(self.model)
        return self._loaded(command, q) if usable else command

    def _follow(self, dt: float) -> None:
        target, observed = np.zeros(4), self.payload
        if (
            observed is not None
            and observed.mass > 0.0
            and observed.mass_deviation < _LARGEST_DEVIATION * observed.mass
        ):
            target = np.concatenate([[observed.mass], observed.moment])
        if not np.isfinite(target.sum()):
            return
        difference = target - self._applied
        # The first moment arrives with the mass.
        share = min(1.0, self.rate * dt / max(abs(float(difference[0])), 1e-9))
        self._applied = self._applied + share * difference

    def _loaded(self, command: Command, q: Array) -> Command:
        if not self._applied.any():
            return command
        model, b = self.model, self.model.b
        d = Evaluation(model, q, np.zeros(model.nv))
        gravity = model.gravity @ d.placement(model.end_effector)[:3, :3]
        weight = np.concatenate([self._applied[0] * gravity, np.cross(self._applied[1:], gravity)])
        force = -d.J_end_effector.T @ weight
        bound = model.joints.effort
        torque = np.clip(command.torque + force[b:], -bound, bound)
        return replace(command, wrench_base=command.wrench_base + force[:b], torque=torque)
