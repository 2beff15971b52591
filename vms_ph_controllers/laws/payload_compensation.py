# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The weight of an observed payload in the gravity term of any law."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from vms_ph_dynamics import Array, Evaluation

from ..controller import Command, Controller, LawWrapper, Reference, RobotState
from ..observers import Payload

# Largest standard deviation of the mass of a payload that is compensated, as a share of the mass.
_LARGEST_DEVIATION = 0.2

# The first moment changes at most as that of a mass this far from the end effector, m.
_LEVER = 0.3

# Reach of a robot whose joints all lie together, m.
_LEAST_REACH = 1.0


class PayloadCompensation(LawWrapper):
    """A law whose efforts carry the weight of a payload as well.

    ``f + J^T (m g, m c x g)`` with the efforts f of the law, the Jacobian J of the end effector and
    gravity g in its axes. The weight is a force with a potential, so that neither the stability
    nor the energy tank of the law depend on it. It is added before the limits of the law, or of the
    joints where the law has none, and stays in force when the law is reset. The parameters in force
    follow those of :meth:`carry` at a bounded rate; a payload of which the mass is not known to a
    fifth is not taken.

    Attributes:
        law: the law itself; its gains are those of this object.
        rate: largest change of the mass in force, kg/s; of the first moment 0.3 m times it.
    """

    def __init__(self, law: Controller, rate: float = 2.0) -> None:
        """Compensate a payload beside a law.

        Args:
            law: the law.
            rate: largest change of the mass in force, kg/s.
        """
        self._wrap(law)
        self.rate = rate
        self._target_payload, self._payload = np.zeros(4), np.zeros(4)
        placements = self.model.tree.pinocchio.jointPlacements
        total_length = sum(float(np.linalg.norm(pose.translation)) for pose in placements)
        self._reach = max(_LEAST_REACH, total_length)

    @property
    def mass(self) -> float:
        """Mass in force, kg."""
        return float(self._payload[0])

    def carry(self, payload: Payload | None) -> str:
        """Compensate a payload from now on, or none.

        Returns why it is refused, or an empty text: a robot holds at most its own mass, and the
        centre of mass is within its reach.
        """
        target_payload = np.zeros(4)
        if payload is not None:
            mass, moment = payload.mass, float(np.linalg.norm(payload.moment))
            is_known = mass > 0.0 and payload.mass_deviation < _LARGEST_DEVIATION * mass
            is_possible = mass <= self.model.total_mass and moment <= mass * self._reach
            if not np.isfinite(mass + moment) or (is_known and not is_possible):
                return (
                    f"'{self.model.name}' holds at most {self.model.total_mass:.4g} kg, its own "
                    f"mass, within {self._reach:.3g} m of its end effector; a payload of "
                    f"{mass:.4g} kg with a first moment of {moment:.4g} kg m is not compensated"
                )
            if is_known:
                target_payload = np.concatenate([[mass], payload.moment])
        self._target_payload = target_payload
        return ""

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command of the law with the weight of the payload."""
        if not state.is_usable(self.model, dt):
            return self.law.update(state, reference, dt)
        self._follow(dt)
        return self._with_payload_weight(state.q, lambda: self.law.update(state, reference, dt))

    def safe_output(self, q: Array) -> Command:
        """Return the safe output of the law with the weight of the payload."""
        if not RobotState(q, np.zeros(self.model.nv)).is_usable(self.model):
            return self.law.safe_output(q)
        return self._with_payload_weight(q, lambda: self.law.safe_output(q))

    def _with_payload_weight(self, q: Array, law_command: Callable[[], Command]) -> Command:
        """Return a command of the law with the weight of the payload at a configuration (nq,)."""
        load, b = self._payload_effort(q), self.model.b
        if self.law.carry_load(load):
            return law_command()
        command = law_command()  # of a law without limits
        wrench, torque = command.wrench_base + load[:b], command.torque + load[b:]
        new_command = replace(command, wrench_base=wrench, torque=torque)
        return new_command.clip(self.model.joints.effort, "torque at its limit with the payload")

    def _follow(self, dt: float) -> None:
        change = self._target_payload - self._payload
        # The first moment arrives with the mass.
        mass_change = max(abs(float(change[0])), float(np.linalg.norm(change[1:])) / _LEVER, 1e-9)
        self._payload = self._payload + min(1.0, self.rate * dt / mass_change) * change

    def _payload_effort(self, q: Array) -> Array:
        """Return the effort (nv,) that holds the payload at a configuration (nq,)."""
        if not self._payload.any():
            return np.zeros(self.model.nv)
        model = self.model
        d = Evaluation(model, q, np.zeros(model.nv))
        gravity = model.gravity @ d.placement(model.end_effector)[:3, :3]
        weight = np.concatenate([self._payload[0] * gravity, np.cross(self._payload[1:], gravity)])
        return -d.J_end_effector.T @ weight
