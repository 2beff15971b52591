"""The task-space form: momenta of a task and of its null space."""

import numpy as np

from ..arrays import Array, frozen
from ..errors import ModelError
from ..evaluation import Evaluation
from ..model import VMSModel
from ..tasks import Task
from .energy import TaskEnergy
from .form import Form
from .null_space import orthonormal_null_space
from .ports import Ports
from .standard import CanonicalForm
from .state import PHRate, PHState
from .task_evaluation import TaskEvaluation


class TaskSpaceForm(Form):
    """A redundant arm in the momenta of a task and of its null space [D (27)].

    The momenta are ``z = (pi, pi_nu) = J_bar^-T M v``; gradient and structure are laid out as
    ``(q, pi, pi_nu)``. The null-space basis is orthonormal and aligned with that at a reference
    configuration, so that ``pi_nu`` is a smooth function of the state around it.
    """

    def __init__(
        self,
        model: VMSModel,
        task: Task,
        reference: Array | None = None,
        basis: Array | None = None,
    ) -> None:
        """Take a task of full row rank.

        Args:
            model: an arm on a fixed base.
            task: of fewer dimensions than the arm has joints.
            reference: (nq,) configuration the null-space basis is aligned with; the middle of the
                joint ranges when None.
            basis: (nv-m,nv) orthonormal rows to align with instead.

        Raises:
            ModelError: a moving base, or a task that leaves no null space.
        """
        super().__init__(model)
        self.task = task
        if task.dimension >= model.nv:
            raise ModelError(
                f"the task has {task.dimension} dimensions and the robot {model.nv}; the task "
                "must have fewer, so that a null space is left"
            )
        self._canonical = CanonicalForm(model)
        if basis is not None:
            self._reference = frozen(np.array(basis))
            return
        at = _middle(model) if reference is None else model.checked_configuration(reference)
        jacobian = task.jacobian(model.evaluate(at, np.zeros(model.nv)))
        self._reference = frozen(orthonormal_null_space(jacobian))

    def evaluate(self, q: Array, v: Array) -> TaskEvaluation:
        """Return the task-space quantities at a configuration (nq,) and a velocity (nv,)."""
        return self.terms(self.model.evaluate(q, v))

    def terms(self, d: Evaluation) -> TaskEvaluation:
        """Return the task-space quantities that go with the terms of the equations of motion."""
        return TaskEvaluation(d, self.task, self._reference)

    def state(self, q: Array, v: Array) -> PHState:
        """Return the state ``(q, J_bar^-T M v)`` [D (25)]."""
        t = self.evaluate(q, v)
        return PHState(t.d.q, np.concatenate([t.pi, t.pi_nu]))

    def velocity_arrays(self, q: Array, z: Array) -> Array:
        """Return ``v = M^-1 J_bar^T z``, (nv,)."""
        return self._at(q, z).d.v

    def hamiltonian(self, x: PHState) -> TaskEnergy:
        """Return the energy, its kinetic part split by the task [D, after (26)]."""
        t = self._at(x.q, x.z)
        return TaskEnergy(t.kinetic_task, t.kinetic_null, t.d.potential_energy)

    def gradient(self, x: PHState) -> Array:
        """Return ``(dK/dq at fixed z, eta, nu)``, (2nv,)."""
        t = self._at(x.q, x.z)
        eta_e = np.concatenate([t.eta, t.nu])
        return np.concatenate([-t.d.C.T @ t.d.v - t.E.T @ eta_e, eta_e])

    def interconnection(self, x: PHState) -> Array:
        """Return ``J_z = [[0, J_bar^-1], [-J_bar^-T, G]]``, (2nv,2nv) [D (27)]."""
        t, nv = self._at(x.q, x.z), self.model.nv
        inverse = t.J_bar_inverse
        return np.block([[np.zeros((nv, nv)), inverse], [-inverse.T, t.G]])

    def input_map(self, x: PHState) -> Array:
        """Return ``[0; J_bar^-T]`` from joint torques, (2nv,nv): ``sigma`` and ``tau_0``."""
        inverse = self._at(x.q, x.z).J_bar_inverse
        return np.vstack([np.zeros_like(inverse), inverse.T])

    def dirac(self, x: PHState) -> Array:
        """Return the Dirac structure with the task and null-space ports, (4nv,4nv).

        From the efforts ``(dK/dx, dV/dq, (sigma, tau_0))`` to the flows
        ``(xdot, qdot, -(eta, nu))``.
        """
        nv = self.model.nv
        j = self.interconnection(x)
        to_momenta = np.vstack([np.zeros((nv, nv)), np.eye(nv)])
        ports = np.hstack([-self.input_map(x), to_momenta])
        return np.block([[j, ports], [-ports.T, np.zeros((2 * nv, 2 * nv))]])

    def rate_arrays(self, q: Array, z: Array, ports: Ports) -> tuple[Array, Array]:
        """Return ``(qdot, zdot)``; see :meth:`Form.rate_arrays`."""
        t = self._at(q, z)
        v, momentum_rate = self._canonical.rate_arrays(q, t.d.momentum, ports)
        return v, t.E_v + t.J_bar_inverse.T @ momentum_rate

    def layout(self, rate: PHRate) -> Array:
        """Return ``(qdot, pidot, pidot_nu)``, (2nv,)."""
        return np.concatenate([rate.qdot, rate.zdot])

    def _at(self, q: Array, z: Array) -> TaskEvaluation:
        at_rest = self.evaluate(q, np.zeros(self.model.nv))
        velocity = np.linalg.solve(at_rest.d.M, at_rest.J_bar.T @ z)
        return self.evaluate(q, velocity)


def _middle(model: VMSModel) -> Array:
    bounded = np.isfinite(model.joints.lower) & np.isfinite(model.joints.upper)
    middle = np.zeros(model.n)
    middle[bounded] = (model.joints.lower[bounded] + model.joints.upper[bounded]) / 2
    v = np.zeros(model.nv)
    v[model.b :] = middle
    return model.integrate(model.neutral_configuration(), v)
