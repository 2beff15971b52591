"""Task-space IDA-PBC: shaped energy, routed energy and injected damping for a redundant arm."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation
from vms_ph_dynamics.tasks import PositionTask

from ..interface import (
    Command,
    ControlEnergy,
    Controller,
    Reference,
    RobotState,
    Status,
    gain,
    switch,
)
from ..potentials.joint_limit_potential import JointLimitPotential
from ..potentials.shaped_potential import ShapedPotential, weight_of_task_stiffness
from ..references.reference_governor import Minimum, ReferenceGovernor
from ..safety.energy_tank import EnergyTank
from ..safety.limits import TorqueLimits
from ..safety.tank_budget import TankBudget
from .energy_routing import EnergyRouting, TargetCoupling
from .split_motion import SplitMotion, damped_velocity, exchange, split

# Below this smallest singular value of the task Jacobian its null space turns fast; the law itself
# contains no inverse of J and stays finite and passive.
SINGULAR = 0.03


class TaskSpaceIDAPBC(Controller):
    r"""Interconnection and damping assignment in task-space momenta [D (37)].

    ``tau = g - dV_c/dq + J_bar^T (G_bar - G) (eta, nu) - J^T D_t eta - N^T D_nu nu``, with the
    potential ``V_c = 1/2 (q - q*)^T W (q - q*)`` and soft joint limits. It needs no task inertia,
    and without routing no derivative. The closed-loop energy ``H_cl = K_t + K_nu + V_c`` falls by
    the injected damping.

    The minimum ``q*`` follows the reference ``x*`` such that ``f(q*) = x*``. With a tank
    (:class:`EnergyTank`) whatever that or a change of gains costs is paid from stored energy: a
    reference waits, and the potential is weakened (``Command.authority``), where it is empty; once
    sampling has run it into debt, damping is implicit until the next reset.

    What it does when something is wrong, in the status: a state that is not finite gets the last
    gravity torque (HOLDING); a reference that is not finite is ignored (HOLDING); a singular
    posture gets a continuous damping and no routing, and a reference out of reach the closest
    minimum (DEGRADED).
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
        task_stiffness: float = gain(
            0.0, "K_t = task_stiffness * I, N/m, in place of stiffness; 0: not used", 0.0, 5000.0
        )
        null_stiffness: float = gain(
            10.0, "K_nu = null_stiffness * I, N m/rad; goes with task_stiffness", 0.0, 1000.0
        )
        limit_stiffness: float = gain(
            100.0, "of the springs at the joint limits, N m/rad; 0: none", 0.0, 5000.0
        )
        limit_margin: float = gain(
            0.05, "distance from a joint limit at which its spring begins, rad or m", 0.0, 0.5
        )
        cancel_coupling: bool = switch(
            False, "replace the gyroscopic coupling of task and null space by zero"
        )
        implicit_damping: bool = switch(
            False, "damp the velocity at the end of the sample: for low rates and light joints"
        )
        torque_rate: float = gain(0.0, "largest change of a torque, N m/s; 0: any", 0.0, 1e6)
        power: float = gain(0.0, "largest power into the joints, W; 0: any", 0.0, 1e6)
        tank_capacity: float = gain(0.0, "of the energy tank, J; 0: no tank", 0.0, 100.0)
        tank_initial: float = gain(0.5, "what the tank holds after a reset, J", 0.0, 100.0)

    gains: Gains

    def __init__(
        self,
        model: VMSModel,
        frame: str | None = None,
        gains: Gains | None = None,
        *,
        task_stiffness: Array | None = None,
        weight: Array | None = None,
        routing: TargetCoupling | Literal["keep", "cancel"] = "keep",
    ) -> None:
        """Control the position of ``frame``, the model's end effector when None.

        Args:
            model: an arm on a fixed base, of three joints or more.
            frame: whose position is the task.
            gains: the defaults when None.
            task_stiffness: K_t (3,3) in place of the gain of that name, N/m.
            weight: W (n,n) in place of the gains, N m/rad.
            routing: ``"keep"`` leaves the gyroscopic coupling G as it is, ``"cancel"`` puts zero in
                its place, a function of the state gives G_bar, of which the skew part is used.

        Raises:
            ModelError: no such frame, a moving base, too few joints, or stiffnesses of the wrong
                shape.
        """
        super().__init__(model)
        if model.base != "fixed":
            raise ModelError(
                f"TaskSpaceIDAPBC is for arms on a fixed base; '{model.name}' has a "
                f"{model.base} base"
            )
        if model.n < PositionTask.dimension:
            raise ModelError(
                f"TaskSpaceIDAPBC controls a position, which takes at least 3 joints; "
                f"'{model.name}' has {model.n}"
            )
        self.task = PositionTask(model, frame)
        self.gains = self._given(gains)
        self._weight = _symmetric(weight, model.n, "weight")
        self._task_stiffness = _symmetric(task_stiffness, 3, "task_stiffness")
        self._cancel = routing == "cancel"
        self._target_coupling = None if isinstance(routing, str) else routing
        self._routing = EnergyRouting(model, self.task, SINGULAR)
        self._joint_limits = JointLimitPotential(model)
        self._torque_limits = TorqueLimits(model)
        self._minimum = ReferenceGovernor(model, self.task, SINGULAR)
        self._tank_budget = TankBudget(model)
        self._weighed: ShapedPotential | None = None
        self._key = (0.0, 0.0)
        self._safe_torque = np.zeros(model.n)

    @property
    def q_star(self) -> Array:
        """The minimum of the shaped potential, (nq,)."""
        return self._minimum.now.q.copy()

    @property
    def tank(self) -> EnergyTank | None:
        """The energy tank, where there is one."""
        return self._tank_budget.tank

    def reset(self, state: RobotState) -> None:
        """Hold the present pose; see :meth:`Controller.reset`."""
        self.set_minimum(state.q)

    def set_minimum(self, q_star: Array) -> None:
        """Put the minimum of the shaped potential at a configuration (nq,), [D (36)].

        Raises:
            StateError: not a configuration of the model.
        """
        d = self._minimum.set(q_star)
        self._routing.anchor(d.q)
        self._safe_torque = np.array(d.g)
        self._torque_limits.restart()
        self._tank_budget.reset(self._potential(self._minimum.now))

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the torques for a state; see :meth:`Controller.update`."""
        model, gains = self.model, self.gains
        if not state.is_usable(model):
            self.missed_updates()
            return self.safe_output(state.q)
        d = Evaluation(model, state.q, state.v)
        depth = self._joint_limits.depth(model.joint_positions(d.q), gains.limit_margin)
        limit_energy = 0.5 * gains.limit_stiffness * float(depth @ depth)
        spending = self._tank_budget
        spending.begin(d, limit_energy, gains.tank_capacity, gains.tank_initial)
        put_in = self._follow(reference, d, dt)
        jacobian = self.task.jacobian(d)
        motion = split(d, jacobian, SINGULAR)
        spring = spending.authority * spending.potential.gradient(d.q)
        eta, nu = motion.eta, motion.nu
        if dt > 0.0 and (gains.implicit_damping or spending.was_in_debt):
            w = damped_velocity(d, motion, gains.damping_task, gains.damping_null, dt)
            eta, nu = jacobian @ w, motion.null_map @ w
        damping_task, damping_null = gains.damping_task * eta, gains.damping_null * nu
        wanted = d.g - spring - jacobian.T @ damping_task - motion.null_map.T @ damping_null
        wanted = wanted - gains.limit_stiffness * depth
        routed = self._routed(d)
        if routed is not None:
            wanted = wanted + routed
        limited = self._torque_limits.apply(wanted, d.g, d.v, gains.torque_rate, gains.power, dt)
        torque, effort = limited.torque, model.joints.effort
        self._safe_torque = np.clip(d.g, -effort, effort)
        spending.end(d, torque, limit_energy)

        potential = spending.energy(d.q) + limit_energy
        tank = spending.tank
        energy = ControlEnergy(
            closed_loop_energy=d.kinetic_energy + potential,
            shaped_potential=potential,
            kinetic_task=d.kinetic_energy - motion.kinetic_null,
            kinetic_null=motion.kinetic_null,
            damping_task=float(motion.eta @ damping_task),
            damping_null=float(motion.nu @ damping_null),
            reference_power=put_in / dt if dt > 0.0 else 0.0,
            clipped_power=float((torque - wanted) @ d.v),
            routing_power=0.0 if routed is None else float(routed @ d.v),
            null_to_task=exchange(d, motion, self.task.jacobian_rate(d)),
            tank_level=0.0 if tank is None else tank.level,
            unaccounted_energy=0.0 if tank is None else tank.unaccounted_energy,
        )
        status, reason = self._judge(limited.reason, motion)
        goal = self._minimum.now.x if self._minimum.target is None else self._minimum.target
        error = float(np.linalg.norm(self.task.value(d) - goal))
        return Command(
            np.zeros(0),
            torque,
            energy,
            status,
            reason,
            error,
            motion.smallest,
            spending.authority,
        )

    def missed_updates(self) -> None:
        """Earn nothing by what is not seen; see :meth:`Controller.missed_updates`."""
        self._tank_budget.lose(self._safe_torque)

    def safe_output(self, q: Array) -> Command:
        """Return the last gravity torque; see :meth:`Controller.safe_output`."""
        return Command(
            np.zeros(0),
            self._safe_torque,
            status=Status.HOLDING,
            reason="the state is not finite, or not one of this robot; holding the last "
            "gravity torque",
        )

    def _follow(self, reference: Reference, d: Evaluation, dt: float) -> float:
        """Move minimum and stiffness to where they are wanted; return what that puts in, J."""
        gains, minimum = self.gains, self._minimum
        candidate = minimum.next(reference, dt, gains.reference_speed, gains.limit_margin)
        moved = candidate

        def potential(share: float) -> ShapedPotential:
            nonlocal moved
            moved = candidate if share == 1.0 else minimum.towards(candidate, share)
            return self._potential(moved)

        put_in = self._tank_budget.change(d.q, potential)
        minimum.accept(moved)
        return put_in

    def _potential(self, minimum: Minimum) -> ShapedPotential:
        """Return the potential that the gains ask for at a minimum."""
        gains = self.gains
        by_task = gains.task_stiffness > 0.0 or self._task_stiffness is not None
        if self._weight is not None:
            return ShapedPotential(self.model, minimum.q, self._weight)
        if not by_task:
            return ShapedPotential(self.model, minimum.q, gains.stiffness)
        # The weight changes with the minimum and with two gains only.
        key = (gains.task_stiffness, gains.null_stiffness)
        if self._weighed is None or self._weighed.q_star is not minimum.q or self._key != key:
            stiffness = self._task_stiffness
            if stiffness is None:
                stiffness = gains.task_stiffness * np.eye(3)
            at = Evaluation(self.model, minimum.q, np.zeros(self.model.nv))
            weight = weight_of_task_stiffness(self.task, at, stiffness, gains.null_stiffness)
            self._weighed, self._key = ShapedPotential(self.model, minimum.q, weight), key
        return self._weighed

    def _routed(self, d: Evaluation) -> Array | None:
        if self._target_coupling is None and not (self._cancel or self.gains.cancel_coupling):
            return None
        return self._routing.torque(d, self._target_coupling)

    def _judge(self, limited: str, motion: SplitMotion) -> tuple[Status, str]:
        if limited:
            return Status.SATURATED, limited
        if not motion.is_regular:
            smallest = motion.smallest
            return Status.DEGRADED, f"near a singularity: smallest singular value {smallest:.3g}"
        if self._minimum.refused:
            return Status.HOLDING, "the reference is not finite; staying with the last one"
        if self._tank_budget.is_short:
            return Status.DEGRADED, (
                "the energy tank is empty: reference or stiffness wait for what damping gives back"
            )
        if self._minimum.is_behind:
            return (
                Status.DEGRADED,
                "the minimum cannot follow the reference: holding as near as it gets",
            )
        return Status.OK, ""


def _symmetric(matrix: Array | None, size: int, name: str) -> Array | None:
    if matrix is None:
        return None
    checked = np.array(matrix, dtype=np.float64)
    if checked.shape != (size, size) or not np.allclose(checked, checked.T):
        raise ModelError(
            f"{name} must be a symmetric ({size},{size}) matrix; given: shape {checked.shape}"
        )
    if np.linalg.eigvalsh(checked)[0] < 0.0:
        raise ModelError(f"{name} must not have negative eigenvalues: it would push away")
    return checked
