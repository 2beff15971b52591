# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Irreversible processes: Onsager structures [C (6), (29)]."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from ..errors import LawError, StructureError
from ..patterns import Interface
from .component import CHECK_SAMPLES, NUMERIC, ROUNDING, SAMPLE_SCALES, Component, States, matrix_of

Onsager = Callable[[States, Array, float], Array]
"""Takes the states that are read, the efforts and theta_0, and returns a matrix."""

_SMALLEST_POWER = 1e-300


class Irreversible(Component):
    """The Onsager structure ``f = M(x, e) e / theta_0``, M symmetric and semidefinite.

    Energy is conserved because M annihilates the energy efforts: ``M (e + theta_0 1_s) = 0`` with
    1_s one at the ports of entropy. Exergy is destroyed at the rate ``e^T M e / theta_0``, which is
    theta_0 times the entropy produced.

    With ``rows`` R on the efforts u that are no temperatures, and a constant positive semidefinite
    K, it is ``M = N^T K N`` with ``N = sqrt(theta) (R, -R u / theta)``, which obeys both laws for
    every state and effort: the flows are ``R^T K R u`` and the heat of their power at one port of
    entropy. A matrix that is a free function is checked at samples by :meth:`check` and at every
    effort that occurs.

    Args:
        interface: the ports, at least one of them of entropy.
        matrix: takes the states of ``reads`` (a tuple), the efforts and theta_0, and returns M; or
            None with rows.
        reads: ports whose states M depends on.
        rows: takes the same and returns R, (k,width - 1).
        conductance: of the rows: K, (k,k), or a number for a multiple of the identity.

    Raises:
        StructureError: not one of matrix and rows, a K that is not symmetric and positive
            semidefinite, or rows with several ports of entropy.
    """

    def __init__(
        self,
        interface: Interface,
        matrix: Onsager | None = None,
        reads: Iterable[str] = (),
        *,
        rows: Onsager | None = None,
        conductance: Any = None,
    ) -> None:
        super().__init__(interface, reads)
        if (matrix is None) == (rows is None) or (rows is None) != (conductance is None):
            raise StructureError(
                "an irreversible component takes either its matrix M, or rows R with their "
                "conductance K"
            )
        if rows is not None and self.is_entropy.sum() != 1.0:
            raise StructureError(
                "rows give the heat of their power to one port of entropy; the component has "
                f"{int(self.is_entropy.sum())}"
            )
        self._matrix, self._rows = matrix, rows
        self._conductance = None if conductance is None else semidefinite_matrix(conductance, "K")

    @property
    def is_lawful(self) -> bool:
        """Whether the flows obey both laws by construction, whatever the state and efforts."""
        return self._rows is not None

    def matrix(self, states: States, e: Array, theta_0: float) -> Array:
        """Return M, (width,width)."""
        if self._matrix is not None:
            return self._matrix(states, e, theta_0)
        is_mechanical, theta = self.is_entropy == 0.0, theta_0 + float(self.is_entropy @ e)
        r, k = self._rows_at(states, e, theta_0)
        N = np.empty((len(r), self.width))
        N[:, is_mechanical], N[:, ~is_mechanical] = r, -(r @ e[is_mechanical])[:, None] / theta
        M: Array = theta * (N.T @ k @ N)
        return 0.5 * (M + M.T)

    def flows(self, states: States, e: Array, theta_0: float) -> Array:
        """Return ``M e / theta_0``, (width,); a component may compute it without the matrix."""
        if self._rows is None:
            return self.matrix(states, e, theta_0) @ e / theta_0
        is_mechanical, theta = self.is_entropy == 0.0, theta_0 + float(self.is_entropy @ e)
        r, k = self._rows_at(states, e, theta_0)
        velocities = r @ e[is_mechanical]
        forces = k @ velocities
        flows = np.empty(self.width)
        flows[is_mechanical], flows[~is_mechanical] = r.T @ forces, -(velocities @ forces) / theta
        return flows

    def _rows_at(self, states: States, e: Array, theta_0: float) -> tuple[Array, Array]:
        """Return R and K."""
        assert self._rows is not None  # only called with rows
        assert self._conductance is not None  # checked by the constructor
        r = np.atleast_2d(np.asarray(self._rows(states, e, theta_0), dtype=np.float64))
        k = self._conductance
        return r, k if k.ndim else k * np.eye(len(r))

    def check_flows(self, name: str, e: Array, flow: Array, theta_0: float) -> None:
        """Raise an error if flows at efforts that occur violate a law.

        Args:
            name: of the box, for the error.
            e: (width,) efforts.
            flow: (width,) flows into the component.
            theta_0: temperature of the environment, K.

        Raises:
            LawError: they destroy entropy or do not conserve energy; the message names the box.
        """
        powers = np.abs(flow) * (np.abs(e) + theta_0 * self.is_entropy)
        tolerance = ROUNDING * float(powers.sum()) + _SMALLEST_POWER
        destroyed_power = float(e @ flow)
        unbalanced_power = destroyed_power + theta_0 * float(self.is_entropy @ flow)
        # Powers that are not finite pass here; the scheme reports the state that they lead to.
        if destroyed_power < -tolerance:
            raise LawError(
                f"the second law fails in box '{name}': at the efforts {_rounded_e(e)} its Onsager "
                f"structure destroys entropy at {-destroyed_power / theta_0:.6g} W/K; look for "
                "negative friction, or give a factor N and K with M = N^T K N"
            )
        if abs(unbalanced_power) > tolerance:
            raise LawError(
                f"the first law fails in box '{name}': at the efforts {_rounded_e(e)} its Onsager "
                f"structure takes {unbalanced_power:.6g} W more than it returns as heat; M times "
                "the energy efforts e + theta_0 1_s must vanish"
            )

    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Raise an error if M violates Onsager's relations, the second or the first law.

        Raises:
            StructureError: it does; the message names the ports or the law.
        """
        if not self.is_entropy.any():
            raise StructureError(
                f"box '{name}' dissipates, but has no port of entropy for the heat; add one and "
                "join it with an environment or a heat capacity"
            )
        for k in range(CHECK_SAMPLES):
            states = tuple(self.random_states(rng))
            e = self.random_efforts(rng, theta_0)
            e = np.where(self.is_entropy > 0.0, e, SAMPLE_SCALES[k % len(SAMPLE_SCALES)] * e)
            M = matrix_of(
                self.matrix(states, e, theta_0), (self.width, self.width), f"M of '{name}'"
            )
            self._check_matrix(name, M, states, e, theta_0)

    def _check_matrix(self, name: str, M: Array, states: States, e: Array, theta_0: float) -> None:
        scale = float(np.abs(M).max())
        asymmetry = np.abs(M - M.T)
        if not asymmetry.max() <= ROUNDING * scale:
            i, j = np.unravel_index(int(asymmetry.argmax()), asymmetry.shape)
            raise StructureError(
                f"box '{name}': its Onsager structure is not symmetric between the ports "
                f"'{self.port_at(int(i))}' and '{self.port_at(int(j))}', where M has the entries "
                f"{M[i, j]:.6g} and {M[j, i]:.6g}"
            )
        eigenvalues, eigenvectors = np.linalg.eigh(M)
        if not eigenvalues[0] >= -ROUNDING * scale:
            port = self.port_at(int(np.argmax(np.abs(eigenvectors[:, 0]))))
            raise StructureError(
                f"box '{name}', port '{port}': its Onsager structure has the negative eigenvalue "
                f"{eigenvalues[0]:.6g}, so it would destroy entropy; friction and conductance must "
                "not be negative"
            )
        imbalance = M @ (e + theta_0 * self.is_entropy)
        # The product of M and the energy efforts vanishes up to the rounding of both factors.
        if not np.abs(imbalance).max() <= ROUNDING * scale * (1.0 + theta_0):
            port = self.port_at(int(np.argmax(np.abs(imbalance))))
            raise StructureError(
                f"box '{name}', port '{port}': its Onsager structure does not conserve energy "
                f"(M times the energy efforts is {np.abs(imbalance).max():.3g}, not 0); the heat "
                "must equal the power dissipated by friction"
            )
        flows = self.flows(states, e, theta_0)
        if not np.abs(flows - M @ e / theta_0).max() <= ROUNDING * scale:
            raise StructureError(f"box '{name}': its flows are not its matrix M times e / theta_0")


class ProcessLaw(Irreversible):
    """A process whose flows are a formula, the same for numbers and for expressions.

    Args:
        interface: its ports.
        reads: ports whose states the formula depends on.
    """

    def __init__(self, interface: Interface, reads: Iterable[str] = ()) -> None:
        super().__init__(interface, self._onsager, reads)

    @property
    def is_lawful(self) -> bool:
        """True: the numbers of the formula have been checked."""
        return True

    @abstractmethod
    def law(self, ops: Any, states: Any, e: Any, theta_0: Any) -> list[Any]:
        """Return the flows, one for every effort.

        Args:
            ops: the operations, ``NumericOps`` or an ``Algebra`` of ``vms_ph_ephs.symbolic``.
            states: of ``reads``.
            e: efforts.
            theta_0: temperature of the environment, K.
        """

    def flows(self, states: States, e: Array, theta_0: float) -> Array:
        """Return the flows of the formula, (width,)."""
        return np.array(self.law(NUMERIC, states, e.tolist(), theta_0), dtype=np.float64)

    @abstractmethod
    def _onsager(self, states: States, e: Array, theta_0: float) -> Array:
        """Return M."""


# Velocities nearer to zero have the slope of the force at this one.
MIN_SPEED = 1e-9


class Dissipation(ProcessLaw):
    """A force ``f(x, u, theta)`` against velocities u, with its heat at the last port, of entropy.

    The Onsager structure is that of the tensor ``mu`` with ``f = mu u``.
    """

    @abstractmethod
    def forces(self, ops: Any, states: Any, u: Any, theta: Any) -> list[Any]:
        """Return the force for every velocity; see :meth:`law`."""

    def law(self, ops: Any, states: Any, e: Any, theta_0: Any) -> list[Any]:
        """Return the forces and the entropy flow of their power."""
        n = self.width - 1
        u, theta = [e[i] for i in range(n)], theta_0 + e[n]
        forces = self.forces(ops, states, u, theta)
        return [*forces, -sum((f * v for f, v in zip(forces, u, strict=True)), start=0) / theta]

    def mu(self, states: States, u: Array, theta: float) -> Array:
        """Return mu, (d,d): diagonal where each force depends on the sign of its velocity alone."""
        rates = np.where(np.abs(u) > MIN_SPEED, u, MIN_SPEED)
        return np.diag(np.array(self.forces(NUMERIC, states, rates.tolist(), theta)) / rates)

    def _onsager(self, states: States, e: Array, theta_0: float) -> Array:
        u, theta = e[:-1], theta_0 + e[-1]
        mu = self.mu(states, u, float(theta))
        force = mu @ u
        M = np.empty((e.size, e.size))
        M[:-1, :-1], M[:-1, -1], M[-1, :-1] = theta * mu, -force, -(u @ mu)
        M[-1, -1] = u @ force / theta
        return M


def semidefinite_matrix(value: Any, label: str) -> Array:
    """Return a number, or a symmetric positive semidefinite matrix, as a read-only array.

    Raises:
        StructureError: it is not finite, not symmetric or has a negative eigenvalue.
    """
    array: Array = np.array(value, dtype=np.float64)
    matrix: Array = array.reshape(1, 1) if array.ndim == 0 else array
    matrix = matrix_of(matrix, (matrix.shape[0], matrix.shape[0]), label)
    scale = float(np.abs(matrix).max(initial=0.0))
    least = float(np.min(np.linalg.eigvalsh(matrix), initial=0.0))
    if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-12 * scale or least < -1e-12 * scale:
        raise StructureError(
            f"{label} must be symmetric and positive semidefinite; given: {array.tolist()}, with "
            f"the least eigenvalue {least:.6g}"
        )
    return frozen(array)


def _rounded_e(e: Array) -> list[float]:
    return [float(f"{value:.6g}") for value in e]
