# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The task-space form: momenta of a task and of its null space."""

import numpy as np

from ..arrays import Array, frozen, vector
from ..errors import ModelError, StateError
from ..evaluation import Evaluation
from ..model import VMSModel
from ..tasks import Task
from .form import Form
from .ports import Ports
from .standard import StandardForm
from .state import PHRate, PHState, TaskEnergy
from .task_coupling import TaskEvaluation
from .task_terms import TaskPower, orthonormal_null_space

# Smallest singular value of the Jacobian below which the form is that of a nearby regular task. For
# the position of an arm of a metre, 1 % of all configurations are below it.
SINGULAR_BELOW = 0.03

# Number of random configurations tried for the reference if the middle of the joint ranges is
# singular.
_TRIALS = 32


class TaskSpaceForm(Form):
    """A robot on any base in the momenta of a task and of its null space [D (27)].

    The momenta are ``z = (pi, pi_nu) = J_bar^-T M v``; gradient and structure are laid out as
    ``(q, pi, pi_nu)``, where q stands for all nv directions of motion, those of the base in the
    base frame. The null-space basis is orthonormal and aligned with that at a reference
    configuration, so that ``pi_nu`` is a smooth function of the state around it: see
    :meth:`alignment` and :meth:`anchored_at`.

    Near a singularity of the task, and at it, the form is that of a nearby regular task (see
    :class:`~vms_ph_dynamics.forms.RegularJacobian`), and ``evaluate(q, v).is_regular`` is
    false.

    Examples:
        >>> from vms_ph_dynamics import PositionTask
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = TaskSpaceForm(panda, PositionTask(panda))
        >>> x = form.state(panda.home, np.ones(panda.nv))
        >>> print(f"{form.hamiltonian(x).kinetic_null:.3f} J")
        0.860 J
    """

    def __init__(
        self,
        model: VMSModel,
        task: Task,
        reference: Array | None = None,
        basis: Array | None = None,
        singular_below: float = SINGULAR_BELOW,
    ) -> None:
        """Build the form of a task of full row rank.

        Args:
            model: the robot.
            task: of fewer dimensions than the robot has degrees of freedom.
            reference: (nq,) configuration that the null-space basis is aligned with; the middle of
                the joint ranges when None, or a configuration nearby if that is singular.
            basis: (nv-m,nv) orthonormal rows of a reference basis, instead of the configuration.
            singular_below: smallest singular value of the Jacobian, in the units of the task, at
                which it counts as regular.

        Raises:
            ModelError: the task leaves no null space, or is singular everywhere.
            StateError: the reference is not a configuration, or the basis is not orthonormal.
        """
        super().__init__(model)
        self.task = task
        self.singular_below = singular_below
        if task.dimension >= model.nv:
            raise ModelError(
                f"the task has {task.dimension} dimensions and the robot {model.nv}; the task "
                "must have fewer, so that a null space is left"
            )
        self._standard = StandardForm(model)
        if basis is not None:
            self._reference = _checked_basis(basis, model.nv - task.dimension, model.nv)
        else:
            configuration = self._regular_configuration() if reference is None else reference
            jacobian = task.jacobian(model.evaluate(configuration, np.zeros(model.nv)))
            self._reference = frozen(orthonormal_null_space(jacobian))
        self._exported_task = task, self._reference

    def evaluate(self, q: Array, v: Array) -> TaskEvaluation:
        """Return the task-space quantities at a configuration (nq,) and a velocity (nv,)."""
        return self.terms(self.model.evaluate(q, v))

    def terms(self, d: Evaluation) -> TaskEvaluation:
        """Return the task-space quantities that go with the terms of the equations of motion."""
        return TaskEvaluation(d, self.task, self._reference, self.singular_below)

    def alignment(self, q: Array) -> float:
        """Return the alignment of the null-space basis: 1 at the reference, 0 where it jumps.

        It is the smallest singular value of ``Zref Z^T``. Below one half, continue with
        :meth:`anchored_at`.
        """
        return self.evaluate(q, np.zeros(self.model.nv)).alignment

    def anchored_at(self, q: Array) -> "TaskSpaceForm":
        """Return the form whose null-space basis is aligned with the present one at q.

        At q both forms have the same basis, so that a state there is a state of both and a
        trajectory continues without a jump. After a closed path the new basis may differ from the
        old one by a rotation (the null space has holonomy).
        """
        basis = self.evaluate(q, np.zeros(self.model.nv)).Z
        return TaskSpaceForm(self.model, self.task, basis=basis, singular_below=self.singular_below)

    def state(self, q: Array, v: Array) -> PHState:
        """Return the state ``(q, J_bar^-T M v)`` [D (25)]."""
        terms = self.evaluate(q, v)
        return PHState(terms.d.q, np.concatenate([terms.pi, terms.pi_nu]))

    def velocity_arrays(self, q: Array, z: Array) -> Array:
        """Return ``v = M^-1 J_bar^T z``, (nv,)."""
        return self.evaluate_state(q, z).d.v

    def hamiltonian(self, x: PHState) -> TaskEnergy:
        """Return the energy, its kinetic part split by the task [D, after (26)]."""
        terms = self.evaluate_state(x.q, x.z)
        return TaskEnergy(terms.kinetic_task, terms.kinetic_null, terms.d.potential_energy)

    def gradient(self, x: PHState) -> Array:
        """Return ``(dK/dq at fixed z, eta, nu)``, (2nv,)."""
        terms, b = self.evaluate_state(x.q, x.z), self.model.b
        slope = -terms.coupling.E.T @ terms.stacked_velocity
        slope[b:] -= (terms.d.C.T @ terms.d.v)[b:]
        return np.concatenate([slope, terms.stacked_velocity])

    def interconnection(self, x: PHState) -> Array:
        """Return ``J_z = [[0, J_bar^-1], [-J_bar^-T, G]]``, (2nv,2nv) [D (27)]."""
        return self.evaluate_state(x.q, x.z).J_z

    def input_map(self, x: PHState) -> Array:
        """Return ``[0; J_bar^-T]`` from generalised forces, (2nv,nv): ``sigma`` and ``tau_0``."""
        inverse = self.evaluate_state(x.q, x.z).J_bar_inverse
        return np.vstack([np.zeros_like(inverse), inverse.T])

    def dirac(self, x: PHState) -> Array:
        """Return the Dirac structure with the task and null-space ports, (4nv,4nv).

        From the efforts ``(dK/dx, dV/dq, (sigma, tau_0))`` to the flows
        ``(xdot, qdot, -(eta, nu))``.
        """
        nv = self.model.nv
        structure = self.interconnection(x)
        port_columns = np.hstack([-self.input_map(x), np.vstack([np.zeros((nv, nv)), np.eye(nv)])])
        return np.block([[structure, port_columns], [-port_columns.T, np.zeros((2 * nv, 2 * nv))]])

    def rate_arrays(self, q: Array, z: Array, ports: Ports) -> PHRate:
        """Return ``(qdot, zdot)``; see :meth:`Form.rate_arrays`.

        Raises:
            StateError: the task Jacobian has lost rank at q, so that the momenta have no rate.
        """
        terms = self.evaluate_state(q, z)
        v, momentum_rate = self._standard.rate_arrays(q, terms.d.momentum, ports)
        return PHRate(v, terms.coupling.E_v + terms.J_bar_inverse.T @ momentum_rate)

    def task_power(self, x: PHState, ports: Ports) -> TaskPower:
        """Return the power of all efforts but gravity at the task and null-space port [D (30)].

        Their sum is the rate of the energy.
        """
        terms = self.evaluate_state(x.q, x.z)
        force = Ports.checked(self.model, ports).force(terms.d)
        return terms.power(force + terms.d.g if ports.gravity else force)

    def layout(self, rate: PHRate) -> Array:
        """Return ``(qdot, pidot, pidot_nu)``, (2nv,)."""
        return np.concatenate([rate.qdot, rate.zdot])

    def evaluate_state(self, q: Array, z: Array) -> TaskEvaluation:
        """Return the task-space quantities at a configuration (nq,) and momenta (nv,)."""
        at_rest = self.evaluate(q, np.zeros(self.model.nv))
        in_motion = self.evaluate(q, np.linalg.solve(at_rest.d.M, at_rest.J_bar.T @ z))
        # What J_bar needed is of the configuration alone.
        vars(in_motion).update(vars(at_rest) | {"d": in_motion.d})
        return in_motion

    def _regular_configuration(self) -> Array:
        q_middle = _middle_configuration(self.model)
        if self._min_singular_value(q_middle) >= self.singular_below:
            return q_middle
        # A fixed seed: a form must not depend on chance.
        rng = np.random.default_rng(0)
        candidates = [self.model.random_configuration(rng) for _ in range(_TRIALS)]
        best_q = max(candidates, key=self._min_singular_value)
        if self._min_singular_value(best_q) < self.singular_below:
            raise ModelError(
                f"the task has no full row rank: in {_TRIALS} configurations its smallest singular "
                f"value was at most {self._min_singular_value(best_q):.3g}, below singular_below = "
                f"{self.singular_below:g}; leave out rows that depend on the others, or lower it"
            )
        return best_q

    def _min_singular_value(self, q: Array) -> float:
        jacobian = self.task.jacobian(self.model.evaluate(q, np.zeros(self.model.nv)))
        return float(np.linalg.svd(jacobian, compute_uv=False)[-1])


def _middle_configuration(model: VMSModel) -> Array:
    limits = np.array([model.joints.lower, model.joints.upper])
    is_bounded, v = np.isfinite(limits).all(axis=0), np.zeros(model.nv)
    v[model.b :][is_bounded] = limits[:, is_bounded].mean(axis=0)
    return model.integrate(model.neutral_configuration(), v)


def _checked_basis(basis: Array, rows: int, columns: int) -> Array:
    checked_basis = np.stack([vector(row, columns, "a row of the basis") for row in basis])
    deviation = float(np.abs(checked_basis @ checked_basis.T - np.eye(len(checked_basis))).max())
    if len(checked_basis) != rows or deviation > 1e-6:
        raise StateError(
            f"the basis must be {rows} orthonormal rows; given: {len(checked_basis)} rows, whose "
            f"products are off the identity by {deviation:.2g}"
        )
    return frozen(checked_basis)
