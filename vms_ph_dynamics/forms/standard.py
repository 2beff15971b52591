# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The standard form: momenta conjugate to the base twist and the joint rates."""

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from ..evaluation import Evaluation
from ..groups import base_group
from ..model import VMSModel
from ..robot_model import RobotModel
from .form import Form, velocity_of_momentum
from .ports import Ports
from .rates import native_rate
from .state import PHRate, PHState, StandardEnergy


class StandardForm(Form):
    """A robot on any base, in the momenta conjugate to base twist and joint rates [A (47)-(50)].

    The momenta are ``z = (p, pi) = M(q) v``; gradient and structure are laid out as
    ``(p, q, pi)``. On a fixed base these are Hamilton's equations [A (23), D (3)]:
    ``(qdot; pidot) = [[0, I], [-I, 0]] (dH/dq; dH/dpi) + [0; I] tau``.

    Examples:
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = StandardForm(panda)
        >>> x = form.state(panda.home, np.full(panda.nv, 0.1))  # q and momenta
        >>> J = form.interconnection(x)
        >>> bool(np.all(J == -J.T))
        True
    """

    _decoupled = False

    def state(self, q: Array, v: Array) -> PHState:
        """Return the state ``(q, M(q) v)``; see :meth:`Form.state`."""
        d = self.model.evaluate(q, v)
        return PHState(d.q, d.momentum)

    def velocity_arrays(self, q: Array, z: Array) -> Array:
        """Return ``M(q)^-1 z``, (nv,)."""
        return velocity_of_momentum(self.model, q, z)

    def hamiltonian(self, x: PHState) -> StandardEnergy:
        """Return ``1/2 z^T M(q)^-1 z + V(q)`` [A (49)]."""
        d = self.evaluation(x)
        return StandardEnergy(d.kinetic_energy, d.potential_energy)

    def gradient(self, x: PHState) -> Array:
        """Return ``(dH/dp, dH/dq at fixed z, dH/dpi)``, (b+2n,) [A (47)].

        They are the base twist, ``-C^T v`` in its joint rows, and the joint rates [A (26), (27)].
        """
        d, b = self.evaluation(x), self.model.b
        return np.concatenate([d.v[:b], -(d.C.T @ d.v)[b:], d.v[b:]])

    def interconnection(self, x: PHState) -> Array:
        """Return ``diag(ad~_p, [[0, I], [-I, 0]])``, (b+2n,b+2n) [A (48)]."""
        return canonical_structure(coadjoint_matrix(self.model, x.z[: self.model.b]), self.model.n)

    def input_map(self, x: PHState) -> Array:
        """Return G, (b+2n,b+n): forces act on the momenta [A (48)]."""
        return canonical_input(self.model.b, self.model.n)

    def dirac(self, x: PHState) -> Array:
        """Return the Dirac structure with all ports, [A fig. 5, after (33), (43)].

        From the efforts ``(dH/dx, dV, (w, tau), W_e)`` of sizes b+2n, b+n, b+n, 6 to the flows
        ``(xdot, v, -v, -V_e)``, and likewise at every tool; dV is the gradient of the potential in
        the base frame and the joints. The source prints the last two flows without the sign; with
        it the matrix is skew-symmetric.
        """
        at_rest = self.model.evaluate(x.q, np.zeros(self.model.nv))
        return dirac_matrix(self.interconnection(x), self.input_map(x), at_rest.J_wrenches)

    def rate_arrays(self, q: Array, z: Array, ports: Ports) -> PHRate:
        """Return ``(v, C^T v + force)``; see :meth:`Form.rate_arrays`.

        The base rows of ``C^T v`` are ``ad_v^T p``, the joint rows the gradient of the kinetic
        energy at fixed velocity: (47) without its derivative tensor.
        """
        core_rate = native_rate(self.model, self._decoupled, q, z, ports)
        if core_rate is not None:
            return core_rate
        v = self.velocity_arrays(q, z)
        d = Evaluation(self.model, q, v)
        return PHRate(v, v.dot(d.C) + ports.force(d))


class CanonicalForm(StandardForm):
    """The standard form of an arm on a fixed base; a moving base is an error."""

    def __init__(self, model: VMSModel) -> None:
        """Create the form of a robot; see :class:`Form`.

        Args:
            model: the robot, on a fixed base.

        Raises:
            ModelError: the base moves.
        """
        if model.base != "fixed":
            raise ModelError(
                f"the canonical form needs a fixed base; '{model.name}' has a {model.base} "
                "base: use StandardForm or DecoupledForm"
            )
        super().__init__(model)


def canonical_structure(poisson: Array, n: int) -> Array:
    """Return ``diag(poisson, [[0, I], [-I, 0]])``, (b+2n,b+2n)."""
    b = len(poisson)
    matrix = np.zeros((b + 2 * n, b + 2 * n))
    matrix[:b, :b], matrix[b : b + n, b + n :] = poisson, np.eye(n)
    matrix[b + n :, b : b + n] = -np.eye(n)
    return matrix


def canonical_input(b: int, n: int) -> Array:
    """Return the map from generalised forces to the momenta of base and joints, (b+2n,b+n)."""
    return np.insert(np.eye(b + n), [b] * n, 0.0, axis=0)


def coadjoint_matrix(model: RobotModel, p: Array) -> Array:
    """Return ``ad~_p`` of the base group, (b,b) [A (38)]."""
    is_fixed = model.base == "fixed"
    return np.zeros((0, 0)) if is_fixed else base_group(model.base).coadjoint_matrix(p)


def dirac_matrix(interconnection: Array, input_map: Array, wrench_jacobian: Array) -> Array:
    """Return the Dirac structure of an interconnection with potential, input and tool ports."""
    port_columns = np.hstack([-input_map, input_map, input_map @ wrench_jacobian.T])
    count = port_columns.shape[1]
    return np.block([[interconnection, port_columns], [-port_columns.T, np.zeros((count, count))]])
