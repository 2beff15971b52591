"""Task-space IDA-PBC: shaped energy and injected damping for a redundant arm."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation
from vms_ph_dynamics.tasks import PositionTask

from .interface import (
    Command,
    ControlEnergy,
    Controller,
    Reference,
    RobotState,
    Status,
    gain,
)

# Below this smallest singular value of the task Jacobian its null space turns fast; the law itself
# contains no inverse of J and stays finite and passive.
SINGULAR = 0.03


class TaskSpaceIDAPBC(Controller):
    r"""Interconnection and damping assignment in task-space momenta [D (37), G_bar = G].

    With the potential ``V_c = -V + 1/2 (q - q*)^T W (q - q*)`` and the interconnection kept, the
    law [D (37)] is ``tau = g(q) - W (q - q*) - J^T D_t J qdot - N^T D_nu N qdot``: it needs no task
    inertia and so no inverse of the Jacobian. The closed-loop energy
    ``H_cl = K_t + K_nu + 1/2 (q - q*)^T W (q - q*)`` falls by the injected damping.

    The minimum ``q*`` follows the reference ``x*`` such that ``f(q*) = x*``; the energy that a
    moving reference puts in is accounted.
    """

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law."""

        stiffness: float = gain(30.0, "W = stiffness * I, N m/rad", 0.0, 1000.0)
        damping_task: float = gain(9.0, "D_t = damping_task * I, N s/m", 0.0, 500.0)
        damping_null: float = gain(6.0, "D_nu = damping_null * I, N m s/rad", 0.0, 500.0)
        reference_speed: float = gain(
            0.2, "largest speed at which the reference is approached, m/s", 0.001, 2.0
        )

    gains: Gains

    def __init__(
        self, model: VMSModel, frame: str | None = None, gains: Gains | None = None
    ) -> None:
        """Control the position of ``frame``, the model's end effector when None.

        Raises:
            ModelError: no such frame, or a moving base.
        """
        super().__init__(model)
        if model.base != "fixed":
            raise ModelError(
                f"TaskSpaceIDAPBC is for arms on a fixed base; '{model.name}' has a "
                f"{model.base} base"
            )
        self.task = PositionTask(model, frame)
        self.gains = self.Gains() if gains is None else gains
        self._q_star = model.neutral_configuration()
        self._target: Array | None = None
        self._x_star = np.zeros(3)
        self._safe_torque = np.zeros(model.n)

    @property
    def q_star(self) -> Array:
        """The minimum of the shaped potential, (nq,)."""
        return self._q_star.copy()

    def reset(self, state: RobotState) -> None:
        """Hold the present pose; see :meth:`Controller.reset`."""
        self.set_minimum(state.q)

    def set_minimum(self, q_star: Array) -> None:
        """Put the minimum of the shaped potential at a configuration (nq,), [D (36)].

        Raises:
            StateError: not a configuration of the model.
        """
        d = self.model.evaluate(q_star, np.zeros(self.model.nv))
        self._q_star = np.array(d.q)
        self._x_star = np.array(self.task.value(d))
        self._target = None
        self._safe_torque = np.array(d.g)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the torques for a state; see :meth:`Controller.update`."""
        model, gains = self.model, self.gains
        if not np.isfinite(state.q.sum() + state.v.sum()):
            return Command(
                np.zeros(0),
                self._safe_torque,
                status=Status.HOLDING,
                reason="the state is not finite; holding the last gravity torque",
            )
        d = Evaluation(model, state.q, state.v)
        reference_energy = self._follow(reference, d, dt)
        jacobian = self.task.jacobian(d)
        _, singular_values, right = np.linalg.svd(jacobian)
        z = right[3:]
        weight = z @ d.M
        # nu = N v, N = (Z M Z^T)^-1 Z M; with orthonormal Z the damping N^T D_nu N does not depend
        # on which basis the decomposition picked.
        n = np.linalg.solve(weight @ z.T, weight)
        eta, nu = jacobian @ d.v, n @ d.v
        away = model.difference(self._q_star, state.q)
        damping_task, damping_null = gains.damping_task * eta, gains.damping_null * nu
        wanted = d.g - gains.stiffness * away - jacobian.T @ damping_task - n.T @ damping_null
        torque = np.clip(wanted, -model.joints.effort, model.joints.effort)
        self._safe_torque = np.clip(d.g, -model.joints.effort, model.joints.effort)

        kinetic_null = 0.5 * float(nu @ (weight @ d.v))
        potential = 0.5 * gains.stiffness * float(away @ away)
        energy = ControlEnergy(
            closed_loop=d.kinetic_energy + potential,
            shaped_potential=potential,
            kinetic_task=d.kinetic_energy - kinetic_null,
            kinetic_null=kinetic_null,
            damping_task=float(eta @ damping_task),
            damping_null=float(nu @ damping_null),
            reference_power=reference_energy / dt,
            clipped_power=float((torque - wanted) @ d.v),
        )
        status, reason = self._judge(torque, wanted, float(singular_values[-1]))
        wanted_at = self._x_star if self._target is None else self._target
        error = float(np.linalg.norm(self.task.value(d) - wanted_at))
        return Command(
            np.zeros(0), torque, energy, status, reason, error, float(singular_values[-1])
        )

    def _judge(self, torque: Array, wanted: Array, smallest: float) -> tuple[Status, str]:
        clipped = np.flatnonzero(torque != wanted)
        if len(clipped):
            names = ", ".join(self.model.joint_names[i] for i in clipped)
            return Status.SATURATED, f"torque at its limit: {names}"
        if smallest < SINGULAR:
            return Status.DEGRADED, f"near a singularity: smallest singular value {smallest:.3g}"
        return Status.OK, ""

    def _follow(self, reference: Reference, d: Evaluation, dt: float) -> float:
        """Move the minimum towards the reference; return the energy that puts in, J."""
        if reference.position is not None and np.isfinite(reference.position).all():
            self._target = reference.position
        step = np.zeros(3)
        if reference.velocity is not None and np.isfinite(reference.velocity).all():
            step += dt * reference.velocity
            self._target = None
        if self._target is not None:
            step += self._target - self._x_star
        length = float(np.linalg.norm(step))
        if length < 1e-9:
            return 0.0
        step *= min(1.0, dt * self.gains.reference_speed / length)
        at_minimum = Evaluation(self.model, self._q_star, np.zeros(self.model.nv))
        before = self.model.difference(self._q_star, d.q)
        jacobian = self.task.jacobian(at_minimum)
        # Damped, so that a reference out of reach stops the minimum instead of flinging it.
        lift = jacobian @ jacobian.T + SINGULAR**2 * np.eye(3)
        correction = self._x_star + step - self.task.value(at_minimum)
        move = jacobian.T @ np.linalg.solve(lift, correction)
        positions = self.model.joint_positions(self._q_star)
        within = np.clip(positions + move, self.model.joints.lower, self.model.joints.upper)
        self._q_star = self.model.integrate(self._q_star, within - positions)
        self._x_star = self._x_star + step
        after = self.model.difference(self._q_star, d.q)
        return 0.5 * self.gains.stiffness * float(after @ after - before @ before)
