"""Holding a posture: energy shaping and damping in locked velocity and shape."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation
from vms_ph_dynamics.groups import SE2, SE3, Group

from .interface import Command, ControlEnergy, Controller, Reference, RobotState, Status, gain

_GROUPS: dict[str, Group] = {"planar": SE2(), "floating": SE3()}


class PostureControl(Controller):
    r"""Makes a robot on any base a damped oscillator about the posture at which it was reset.

    With ``e = (e_b, e_m)`` the way from the posture ``q*`` to ``q`` in exponential coordinates, and
    ``A``, ``M_b``, ``M_hat_m`` those of the posture [A (53)-(55)], the shaped potential is
    ``1/2 w_b^2 (e_b + A e_m)^T M_b (e_b + A e_m) + 1/2 w_m^2 e_m^T M_hat_m e_m``: locked motion and
    shape swing with frequencies of their own, whatever the masses. Gravity (and buoyancy) are
    cancelled; damping acts on ``v_hat`` and ``qdot`` alike. With the base frequency zero nothing
    acts on the base: it drifts freely, and the joint torques move only the shape.

    The base wrench is that of ideal actuators: rotors that could not make it are no part of this
    law. It takes no reference; it holds.
    """

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law."""

        base_frequency: float = gain(
            2.0, "w_b of the locked motion, rad/s; 0: the base is free", 0.0, 100.0
        )
        joint_frequency: float = gain(5.0, "w_m of the shape, rad/s", 0.0, 100.0)
        damping_ratio: float = gain(0.7, "of both; 1 is critical", 0.0, 10.0)

    gains: Gains

    def __init__(self, model: VMSModel, gains: Gains | None = None) -> None:
        """Hold a robot on any base."""
        super().__init__(model)
        self.gains = self.Gains() if gains is None else gains
        self._safe: Array = np.zeros(model.nv)
        self._posture(model.neutral_configuration())

    @property
    def q_star(self) -> Array:
        """The posture that is held, (nq,)."""
        return self._q_star.copy()

    def reset(self, state: RobotState) -> None:
        """Hold the present posture; see :meth:`Controller.reset`."""
        self._posture(state.q)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return base wrench and torques for a state; see :meth:`Controller.update`."""
        model, b = self.model, self.model.b
        if not np.isfinite(state.q.sum() + state.v.sum()):
            return Command(
                self._safe[:b],
                self._safe[b:],
                status=Status.HOLDING,
                reason="the state is not finite; holding the last gravity force",
            )
        d = Evaluation(model, state.q, state.v)
        away = model.difference(self._q_star, state.q)
        stiffness, damping = self._springs()
        restoring = stiffness @ away
        potential = 0.5 * float(away @ restoring)
        if b:
            # d e_b / dt = dexp^-1(e_b) v: the gradient with respect to motion is its transpose.
            base = away[:b]
            restoring[:b] = _GROUPS[model.base].dexp_inverse(base).T @ restoring[:b]
        gravity = self._held(d)
        drag = damping @ d.v
        wanted = gravity - restoring - drag
        force = wanted.copy()
        limits = model.joints.effort
        force[b:] = np.clip(wanted[b:], -limits, limits)
        self._safe = gravity
        energy = ControlEnergy(
            closed_loop=d.kinetic_energy + potential,
            shaped_potential=potential,
            kinetic_task=d.kinetic_energy,
            damping_task=float(d.v @ drag),
            clipped_power=float((force - wanted) @ d.v),
        )
        clipped = np.flatnonzero(force[b:] != wanted[b:])
        status, reason = Status.OK, ""
        if len(clipped):
            names = ", ".join(model.joint_names[i] for i in clipped)
            status, reason = Status.SATURATED, f"torque at its limit: {names}"
        return Command(force[:b], force[b:], energy, status, reason)

    def _posture(self, q: Array) -> None:
        model = self.model
        d = model.evaluate(q, np.zeros(model.nv))
        self._q_star = np.array(d.q)
        b = model.b
        to_locked = np.eye(model.nv)
        to_locked[:b, b:] = d.A
        self._base_inertia = to_locked[:b].T @ d.M_b @ to_locked[:b]
        self._shape_inertia = np.zeros((model.nv, model.nv))
        self._shape_inertia[b:, b:] = d.M_hat_m
        self._safe = self._held(d)

    def _springs(self) -> tuple[Array, Array]:
        g = self.gains
        base, shape = self._base_inertia, self._shape_inertia
        stiffness = g.base_frequency**2 * base + g.joint_frequency**2 * shape
        damping = 2 * g.damping_ratio * (g.base_frequency * base + g.joint_frequency * shape)
        return stiffness, damping

    def _held(self, d: Evaluation) -> Array:
        """Return the force that cancels gravity; on a free base, in the shape alone [A (73)]."""
        b = self.model.b
        force = np.array(d.g)
        if b and self.gains.base_frequency == 0.0:
            force[b:] -= d.A.T @ force[:b]
            force[:b] = 0.0
        return force
