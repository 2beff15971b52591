# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The exact linear port-Hamiltonian model about a state."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, ArrayRecord, frozen
from ..groups import base_group
from .derivatives import rate_derivatives
from .form import Form
from .ports import Ports
from .standard import StandardForm, coadjoint_matrix
from .state import PHState


@dataclass(frozen=True, repr=False)
class LinearPortHamiltonian(ArrayRecord):
    """``xi_dot = (J - R) Q xi - (0, K dq) + G du``, the errors about a motion to first order.

    ``xi = (dq, eta)``: the configuration error dq in the base frame and the joints (as
    :meth:`VMSModel.difference` gives it) and the momentum error conjugate to it, ``eta = dz - 1/2
    ad_dq^T p`` of the error dz of the standard form. In these coordinates J is constant. At rest Q
    is the Hessian of the energy and the potential of the held efforts; along a motion it contains
    the motion of the frame too. Errors dq are in m and rad, eta in N s and N m s.

    Attributes:
        J: (2nv,2nv) ``[[0, I], [-I, 0]]``.
        R: (2nv,2nv) symmetric, positive semidefinite: the slope of the friction.
        Q: (2nv,2nv) symmetric.
        G: (2nv,nv) from the changes of ``(wrench_base, torque)``.
        circulatory: K (nv,nv) skew: held wrenches that turn with the robot have no potential; it
            is zero without such wrenches.
        coordinates: (2nv,2nv), ``xi = coordinates (dq, dz)``.
    """

    J: Array
    R: Array
    Q: Array
    G: Array
    circulatory: Array
    coordinates: Array

    @property
    def A(self) -> Array:
        """The whole matrix of ``xi_dot = A xi + G du``, (2nv,2nv)."""
        nv = len(self.circulatory)
        matrix = (self.J - self.R) @ self.Q
        matrix[nv:, :nv] -= self.circulatory
        return matrix


def linear_port_hamiltonian(form: Form, x: PHState, ports: Ports) -> LinearPortHamiltonian:
    """Return the linear port-Hamiltonian model about a state under held efforts.

    Args:
        form: the form that the state belongs to; the result does not depend on it.
        x: at an equilibrium or along a trajectory.
        ports: the held efforts; wrenches are constant in the axes of their frames.

    Raises:
        StateError: a state or effort has the wrong shape or is not finite.

    Examples:
        >>> from vms_ph_dynamics import Ports, StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form, rest = StandardForm(panda), np.zeros(panda.nv)
        >>> weight = Ports(torque=panda.evaluate(panda.home, rest).g)
        >>> linear = linear_port_hamiltonian(form, form.state(panda.home, rest), weight)
        >>> linear.J.shape, linear.G.shape
        ((14, 14), (14, 7))
    """
    model, nv, b = form.model, form.model.nv, form.model.b
    standard = StandardForm(model)
    x = standard.state(x.q, form.velocity(x))
    deriv = rate_derivatives(standard, x, ports, parameters=False)
    rate = standard.rate(x, ports)
    a = np.block([[deriv.velocity_by_q, deriv.velocity_by_z], [deriv.zdot_by_q, deriv.zdot_by_z]])
    coordinates, coordinates_rate = np.eye(2 * nv), np.zeros((2 * nv, 2 * nv))
    if b:
        # Errors in the base frame are transported by the motion of the base.
        a[:b, :b] -= base_group(model.base).ad(rate.qdot[:b])
        coordinates[nv : nv + b, :b] = -0.5 * coadjoint_matrix(model, x.z[:b])
        coordinates_rate[nv : nv + b, :b] = -0.5 * coadjoint_matrix(model, rate.zdot[:b])
    a = (coordinates @ a + coordinates_rate) @ np.linalg.inv(coordinates)
    damping = np.zeros((nv, nv))
    if ports.friction is not None:
        damping[b:, b:] = np.diag(ports.friction.slope(rate.qdot[b:]))
    if ports.drag and model.fluid is not None:
        damping += model.fluid.damping(standard.evaluation(x), 2.0)
    # What friction and drag leave: J times the Hessian, and the circulatory part.
    a[nv:] += damping @ a[:nv]
    stiffness, coupling = -a[nv:, :nv], (a[:nv, :nv] - a[nv:, nv:].T) / 2.0
    inverse_inertia = (a[:nv, nv:] + a[:nv, nv:].T) / 2.0
    hessian = np.block([[(stiffness + stiffness.T) / 2.0, coupling.T], [coupling, inverse_inertia]])
    unit, zero = np.eye(nv), np.zeros((nv, nv))
    return LinearPortHamiltonian(
        frozen(np.block([[zero, unit], [-unit, zero]])),
        frozen(np.block([[zero, zero], [zero, damping]])),
        frozen(hessian),
        frozen(np.vstack([zero, unit])),
        frozen((stiffness - stiffness.T) / 2.0),
        frozen(coordinates),
    )
