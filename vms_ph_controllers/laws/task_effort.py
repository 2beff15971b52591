# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Springs and damping of a task-space law, split into task and null space; it has no memory."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, Evaluation, Task, TaskSpaceForm, VMSModel

from ..controller import ControlEnergy
from ..potentials.shaped_potential import SpringForce
from .sampled_impedance import LawEffort, SampledImpedance, brake


@dataclass(frozen=True, slots=True)
class SplitMotion:
    """Velocity in the task and in its null space, with the maps onto both.

    Attributes:
        J: task Jacobian (m,nv).
        eta: ``J v``, (m,).
        null_map: N (k,nv), ``nu = N v``.
        nu: null-space velocity (k,).
        null_velocity: null-space part of the velocity of the robot, (nv,).
        kinetic_null: kinetic energy of the null space, J.
        sigma_min: smallest singular value of J.
        is_regular: whether it is above the threshold.
        pseudo_inverse: pseudo-inverse of J, (nv,m), singular values bounded below by the threshold.
    """

    J: Array
    eta: Array
    null_map: Array
    nu: Array
    null_velocity: Array
    kinetic_null: float
    sigma_min: float
    is_regular: bool
    pseudo_inverse: Array


def split_motion(d: Evaluation, jacobian: Array, singular_below: float) -> SplitMotion:
    """Split the velocity of an evaluation.

    Where the task is regular the null space has an orthonormal basis Z, ``N = (Z M Z^T)^-1 Z M``,
    and ``N^T N`` does not depend on the choice of Z. Where a singular value of J becomes zero the
    kernel gains a direction, and the damping of the null space would jump. There Z is replaced by
    ``S = h(J^T J)`` with a continuous function h that is 1 at zero and 0 above the threshold, so
    that directions lost by the task pass gradually to the null space. If S is a projector, this is
    the regular map in joint coordinates.
    """
    m = len(jacobian)
    left, sigma, right = np.linalg.svd(jacobian)
    sigma_min = float(sigma[-1])
    eta = jacobian @ d.v
    if sigma_min >= singular_below:
        Z = right[m:]
        weighted_basis = Z @ d.M
        null_map = np.linalg.solve(weighted_basis @ Z.T, weighted_basis)
        nu = null_map @ d.v
        n = Z.T @ nu
        null_energy = 0.5 * float(nu @ (weighted_basis @ d.v))
    else:
        null_shares = np.ones(len(right))
        null_shares[:m] = np.maximum(0.0, 1.0 - (sigma / singular_below) ** 2)
        s = right.T @ (null_shares[:, None] * right)
        complement = right.T @ ((1.0 - null_shares**2)[:, None] * right)
        mean_inertia = float(np.trace(d.M)) / len(d.M)
        null_map = s @ np.linalg.solve(s @ d.M @ s + mean_inertia * complement, s @ d.M)
        nu = n = null_map @ d.v
        null_energy = 0.5 * float(d.momentum @ nu)
    inverse = right[:m].T @ (left / np.maximum(sigma, singular_below)).T
    return SplitMotion(
        jacobian, eta, null_map, nu, n, null_energy, sigma_min, sigma_min >= singular_below, inverse
    )


def exchange(d: Evaluation, motion: SplitMotion, jacobian_rate: Array) -> float:
    """Return the power from null-space to task energy by inertia alone, W.

    ``pi^T Jdot n - u^T C n`` with ``v = u + n`` and ``M u = J^T pi``; see
    :class:`~vms_ph_dynamics.forms.TaskCoupling`. Zero is returned near a singularity, where
    the split is not that of the task.
    """
    if not motion.is_regular:
        return 0.0
    n = motion.null_velocity
    u = d.v - n
    pi = (d.M @ u) @ motion.pseudo_inverse
    return float(pi @ (jacobian_rate @ n) - u @ (d.C @ n))


def task_effort(
    d: Evaluation,
    task: Task,
    spring: SpringForce,
    routing_effort: Array | None,
    damping: tuple[float, float],
    h: float,
    singular_below: float,
) -> LawEffort:
    """Return the effort at a state.

    Args:
        d: the state.
        task: task whose motion is split from that of its null space.
        spring: the potential in force; its stiffness is (nv,nv).
        routing_effort: (nv,) an effort that routes energy; None for none.
        damping: damping of task and of null space, N s/m and N m s/rad.
        h: the horizon, s.
        singular_below: smallest singular value at which the Jacobian counts as regular.
    """
    jacobian, jacobian_rate = task.jacobian(d), task.jacobian_rate(d)
    motion = split_motion(d, jacobian, singular_below)
    null_map = motion.null_map  # D = J^T D_t J + N^T D_nu N
    damping_matrix = damping[0] * (jacobian.T @ jacobian) + damping[1] * (null_map.T @ null_map)
    impedance = SampledImpedance.at(d, damping_matrix, spring.stiffness, spring.force, d.v, h)
    task_force = damping[0] * (jacobian @ impedance.velocity)
    null_force = damping[1] * (null_map @ impedance.velocity)
    damping_force = jacobian.T @ task_force + null_map.T @ null_force + impedance.predicted_spring
    routing = np.zeros(len(d.v)) if routing_effort is None else routing_effort
    energy = ControlEnergy(
        closed_loop_energy=d.kinetic_energy + spring.energy,
        shaped_potential=spring.energy,
        kinetic_task=d.kinetic_energy - motion.kinetic_null,
        kinetic_null=motion.kinetic_null,
        damping_task=float(motion.eta @ task_force),
        damping_null=float(motion.nu @ null_force + d.v @ impedance.predicted_spring),
        routing_power=float(routing @ d.v),
        null_to_task=exchange(d, motion, jacobian_rate),
    )
    return LawEffort(
        d.g - spring.force - damping_force + routing,
        d.g + brake(d, h, routing_effort) - impedance.spring - damping_force + routing,
        energy,
        impedance.reason,
        motion.sigma_min,
    )


# The null-space basis is renewed where its alignment with the reference falls below this.
_MIN_ALIGNMENT = 0.5


class EnergyRouting:
    """The second term of the control law [D (37)] with a target of zero: ``-J_bar^T G (eta, nu)``.

    It transfers energy between task and null space; its total power is zero. G, and with it this
    torque, depends on how the null-space basis changes with the configuration. The basis is aligned
    with that at the minimum of the potential and renewed where the alignment is lost. Between two
    times and one time the singular threshold the torque is scaled down to zero; its power remains
    zero.
    """

    def __init__(self, model: VMSModel, task: Task, singular_below: float) -> None:
        self._model, self._task = model, task
        self._singular_below = singular_below
        self._form: TaskSpaceForm | None = None

    def anchor(self, q: Array) -> None:
        """Align the null-space basis with that at a configuration (nq,)."""
        self._form = None
        if self._task.dimension >= self._model.nv:
            return  # no null space
        self._form = TaskSpaceForm(
            self._model, self._task, reference=q, singular_below=self._singular_below
        )

    def torque(self, d: Evaluation) -> Array | None:
        """Return the torque (n,) that replaces G by zero; None near a singularity."""
        if self._form is None:
            return None
        terms = self._form.terms(d)
        fade_share = min(1.0, terms.regular.smallest_singular_value / self._singular_below - 1.0)
        if fade_share <= 0.0:
            return None
        if terms.alignment < _MIN_ALIGNMENT:
            self._form = self._form.anchored_at(d.q)
            terms = self._form.terms(d)
        torque = -fade_share * (terms.J_bar.T @ terms.G @ terms.stacked_velocity)
        return torque if np.isfinite(torque.sum()) else None
