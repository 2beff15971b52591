# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Springs and damping of a task-space law, split into task and null space; it has no memory."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation
from vms_ph_dynamics.tasks import PositionTask, Task

from ..potentials.shaped_potential import ShapedPotential
from .held_impedance import HeldImpedance, brake
from .split_motion import damping_matrix, exchange, split


@dataclass(frozen=True, slots=True)
class Spring:
    """The gradient (nv,) of a potential and its stiffness (nv,nv)."""

    force: Array
    stiffness: Array


@dataclass(frozen=True, slots=True)
class TaskEffort:
    """What a potential and the damping of task and null space demand of an arm.

    Attributes:
        routing_power: of the routed effort, W.
        wanted: (nv,) the effort in which the energy balance is stated.
        sent: (nv,) with the reduced spring and the brake.
        kinetic: kinetic energy of the robot, J.
        kinetic_null: of the null space, J.
        damping_task: power that the damping of the task takes out, W.
        damping_null: power that the damping of the null space takes out, W.
        exchange: power from null-space to task energy by inertia alone, W.
        smallest: smallest singular value of the task Jacobian.
        is_regular: whether it is above the threshold.
        reason: what was reduced, in words; empty when nothing was.
    """

    routing_power: float
    wanted: Array
    sent: Array
    kinetic: float
    kinetic_null: float
    damping_task: float
    damping_null: float
    exchange: float
    smallest: float
    is_regular: bool
    reason: str


@dataclass(frozen=True, slots=True)
class SprungEffort:
    """An effort with the springs behind it.

    Attributes:
        effort: what springs and damping demand.
        spring_energy: of the shaped potential, J; the share that is in force is not applied.
        limit_energy: of the springs at the joint limits, J.
        place: (3,) of the end of the arm in the inertial frame, m.
    """

    effort: TaskEffort
    spring_energy: float
    limit_energy: float
    place: Array


def sprung_effort(
    d: Evaluation,
    task: Task,
    spring: tuple[ShapedPotential, float],
    limits: tuple[float, float],
    routed: Array | None,
    damping: tuple[float, float],
    h: float,
    singular_below: float,
) -> SprungEffort | None:
    """Return effort and springs in one call of C++; None where these are not all known there.

    Args:
        d: the state.
        task: what is split from the null space.
        spring: the shaped potential, and the share of it that is in force.
        limits: stiffness, N m/rad, and margin, rad or m, of the springs at the joint limits.
        routed: as the other arguments, see :func:`task_effort`.
        damping: of task and null space.
        h: the horizon, s.
        singular_below: smallest singular value at which the Jacobian counts as regular.
    """
    potential, share = spring
    algebra = d.law_algebra
    # Others derived from these may compute otherwise.
    if algebra is None or type(task) is not PositionTask or type(potential) is not ShapedPotential:
        return None
    weight = potential.weight
    number, matrix = (weight, None) if isinstance(weight, float) else (0.0, weight)
    found, spring_energy, limit_energy, place, g = algebra.task_springs(
        *(d.q, d.v, task.frame_id, potential.q_star, number, matrix, share, *limits),
        *(routed, *damping, h, singular_below),
    )
    d.adopt(g)
    routing_power = 0.0 if routed is None else float(routed @ d.v)
    return SprungEffort(TaskEffort(routing_power, *found), spring_energy, limit_energy, place)


def task_effort(
    d: Evaluation,
    task: Task,
    spring: Spring,
    routed: Array | None,
    damping: tuple[float, float],
    h: float,
    singular_below: float,
) -> TaskEffort:
    """Return the effort at a state, computed in C++ where the terms of the model are.

    Args:
        d: the state.
        task: what is split from the null space.
        spring: of the potential in force.
        routed: (nv,) an effort that routes energy; None for none.
        damping: of task and null space, N s/m and N m s/rad.
        h: the horizon, s.
        singular_below: smallest singular value at which the Jacobian counts as regular.
    """
    jacobian, rate = task.jacobian(d), task.jacobian_rate(d)
    routing_power = 0.0 if routed is None else float(routed @ d.v)
    algebra = d.law_algebra if len(jacobian) == 3 else None
    if algebra is not None:
        found = algebra.task(
            *(d.q, d.v, jacobian, rate, spring.force, spring.stiffness, routed),
            *(*damping, h, singular_below),
        )
        return TaskEffort(routing_power, *found)
    motion = split(d, jacobian, singular_below)
    matrix = damping_matrix(motion, *damping)
    held = HeldImpedance.at(d, matrix, spring.stiffness, spring.force, d.v, h)
    of_task = damping[0] * (jacobian @ held.velocity)
    of_null = damping[1] * (motion.null_map @ held.velocity)
    damped = jacobian.T @ of_task + motion.null_map.T @ of_null + held.ahead
    turning = np.zeros(len(d.v)) if routed is None else routed
    return TaskEffort(
        routing_power,
        d.g - spring.force - damped + turning,
        d.g + brake(d, h, routed) - held.spring - damped + turning,
        d.kinetic_energy,
        motion.kinetic_null,
        float(motion.eta @ of_task),
        float(motion.nu @ of_null + d.v @ held.ahead),
        exchange(d, motion, rate),
        motion.smallest,
        motion.is_regular,
        held.reason,
    )
