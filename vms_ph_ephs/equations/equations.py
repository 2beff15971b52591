# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The rates, efforts and constraint forces of a system at a state.

At every junction efforts are equal and flows of inner ports add up to those of outer ports (4). The
equations of all components are assembled once; at a state, the remaining ones are

    e_y = T e + Z w,  w = -P_w A e,                      efforts without storage
    xdot = -(phi + T_y^T phi_y) - G^T kappa + input,     rates of the states
    G e = 0,   G D xdot + Gdot e = 0,                    constraints, which determine kappa

with e = dE - theta_0 ds the stored efforts, D their derivative, phi all flows without those of
multipliers. The first constraint is that of index 2; the second lowers it to 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.native import native_part

from ..errors import PatternError, SingularConstraint
from ..systems import System
from .constraints import Constraints
from .layout import Closure, Layout, couplings, joint_closures, parent_of
from .mechanism import native_mechanism
from .states import Processes, States, Storages


@dataclass(frozen=True)
class Rates:
    """Rates, efforts and forces at an instant; powers are positive into the component.

    Attributes:
        tangent: rates of all states, left-trivialised, (stored,).
        efforts: of all junctions, stored and free, (total,).
        forces: multipliers of the constraints that act on storages, (count,).
        constraint_forces: the multiplier of every component with a constraint that varies, as the
            joint force in frame C2 of a joint [C (28)].
    """

    tangent: Array
    efforts: Array
    forces: Array
    constraint_forces: dict[str, Array]


_MAX_ITERATIONS = 30
_DIFFERENCE_STEP = 1e-6
_MAX_CONTRACTION = 0.1
_TOLERANCE = 1e-12
_ROUNDING = 2.0 * float(np.finfo(np.float64).eps)


class EffortSolver:
    """Solves ``Z^T phi(e, y + Z w) = 0`` for w, as for a spring and a damper in series.

    Args:
        directions: Z, (free,k).
        balance: takes stored efforts, free efforts and inputs, and returns the flows that must
            vanish along Z.
    """

    def __init__(
        self, directions: Array, balance: Callable[[Array, Array, Array | None], Array]
    ) -> None:
        self.count = directions.shape[1]
        self._z, self._balance = directions, balance
        self._jacobian: Array | None = None

    def solve(self, e: Array, free_efforts: Array, flow: Array | None) -> Array:
        """Return the free efforts, (free,).

        Raises:
            SingularConstraint: the balance does not depend on them, or has no solution.
        """
        w = np.zeros(self.count)
        previous_norm = np.inf
        for _ in range(_MAX_ITERATIONS):
            r = self._z.T @ self._balance(e, free_efforts + self._z @ w, flow)
            if self._jacobian is None:
                self._jacobian = self._jacobian_at(e, free_efforts, flow, w)
            try:
                change = np.linalg.solve(self._jacobian, r)
            except np.linalg.LinAlgError:
                self._jacobian = None
                break
            w = w - change
            norm, scale = float(np.abs(change).max()), 1.0 + float(np.abs(w).max())
            contracts = norm < _MAX_CONTRACTION * previous_norm
            # What is left after a change is that change times the share by which changes shrink;
            # where they do not, they are rounding.
            error = norm * norm / previous_norm if contracts and previous_norm < np.inf else norm
            if error <= _ROUNDING * scale or (norm <= _TOLERANCE * scale and not contracts):
                return free_efforts + self._z @ w
            # The Jacobian of an earlier state serves while it lets the changes shrink quickly.
            if not contracts:
                self._jacobian = None
            previous_norm = norm
        self._jacobian = None
        raise SingularConstraint(
            "a velocity is determined by no mass, no constraint and no friction; join one of them"
        )

    def _jacobian_at(self, e: Array, free_efforts: Array, flow: Array | None, w: Array) -> Array:
        jacobian = np.empty((self.count, self.count))
        for i in range(self.count):
            difference = np.zeros(self.count)
            difference[i] = _DIFFERENCE_STEP * (1.0 + abs(w[i]))
            forward = self._z.T @ self._balance(e, free_efforts + self._z @ (w + difference), flow)
            backward = self._z.T @ self._balance(e, free_efforts + self._z @ (w - difference), flow)
            jacobian[:, i] = (forward - backward) / (2.0 * difference[i])
        return jacobian


class Equations:
    """The equations of motion of a system of components.

    Attributes:
        system: the flat system.
        theta_0: temperature of the environment, K.
        layout: the place of every state and effort in the vectors.
        states: state vectors.
        storages: energy, entropy, temperatures of a state vector.
        constraints: what efforts must satisfy.
        joint_closures: the relation between poses behind every joint, by box.
        couplings: states that are integrals of efforts.
        is_entropy: (total,) one at efforts of entropy, zero elsewhere.

    Args:
        system: flat; :func:`assemble` makes it.
        layout: the place of every state and effort in the vectors.
        theta_0: temperature of the environment, K.
        native: whether motions are computed in C++, as for :func:`assemble`.
    """

    def __init__(
        self, system: System, layout: Layout, theta_0: float, native: bool | None = None
    ) -> None:
        self.system, self.layout, self.theta_0 = system, layout, theta_0
        self.states = States(layout)
        self.processes = Processes(self.states, theta_0)
        self.constraints = Constraints(layout, self.processes.skew, self.processes.varying_efforts)
        self.storages = Storages(self.states, theta_0, self.constraints.columns)
        self.joint_closures: dict[str, Closure] = joint_closures(system, layout)
        self.couplings = couplings(layout)
        self._rank: int | None = None
        self.is_entropy = np.zeros(layout.total_size)
        for junction, indices in layout.entries.items():
            if system.pattern.quantity(junction).name == "entropy":
                self.is_entropy[indices] = 1.0
        self._effort_solver = EffortSolver(self.constraints.undetermined_basis, self._free_balance)
        self._varying_constraints = [
            (block, layout.rate_indices(block.box), self.processes.indices[block.box])
            for block in self.constraints.blocks
        ]
        self._check_varying_constraints()
        self._core = native_part(
            native,
            None,
            lambda module: native_mechanism(system, layout, theta_0, module),
            "numpy solves it, at a cost that grows with the cube of the number of bodies",
        )

    @property
    def core(self) -> Any:
        """The ``vms_ph_native.Mechanism`` that computes motions of this system, or None.

        It is None also while the rank of the constraints of closed loops is not known, and while
        flows into components are held.
        """
        core = self._core
        if core is None or self.processes.imposed_flows or (core.loop_rows and self._rank is None):
            return None
        return core

    @property
    def tree_core(self) -> Any:
        """The same where no joint closes a loop, else None."""
        return None if self._core is None or self._core.loop_rows else self._core

    @property
    def rank(self) -> int | None:
        """Number of independent constraints; None until it has been determined."""
        return self._rank

    @rank.setter
    def rank(self, rank: int | None) -> None:
        self._rank = rank
        if self._core is not None and rank is not None:
            self._core.set_loop_rank(rank - self._core.tree_rows)

    def rates(self, x: Array, inputs: Mapping[str, Array] | None = None) -> Rates:
        """Return rates, efforts and constraint forces at a state.

        Args:
            x: (size,) state vector.
            inputs: flows into the system at its outer power ports; zero if not given.

        Raises:
            TemperatureError: an absolute temperature at or below zero.
            SingularConstraint: constraints that do not determine their forces.
        """
        flow = self.flow_vector(inputs)
        e = self.storages.efforts(x)
        a = self.constraints.variable_rows(self.states.views)
        efforts, phi, rate = self._free_motion(e, a, flow)
        kappa: Array = np.zeros(0)
        if self.constraints.row_count:
            rate, kappa = self._constrained_rates(a, rate, efforts)
            basis = self.constraints.multiplier_basis
            efforts[self.layout.stored_size :] -= basis @ kappa[kappa.size - basis.shape[1] :]
        forces = self.constraints.multipliers(self.states.views, phi, kappa)
        return Rates(rate, efforts, kappa, forces)

    def tangent(self, x: Array, flow: Array | None) -> tuple[Array, Array]:
        """Return rates and efforts at a state, the part of :meth:`rates` that integration needs.

        Args:
            x: (size,) state vector.
            flow: (total,) inputs as returned by :meth:`flow_vector`, or None.
        """
        core = self.core
        core_rates = None if core is None else core.rates(x, flow)
        if core_rates is not None:  # otherwise numpy finds the same error, and says where
            return cast(tuple[Array, Array], core_rates)
        e = self.storages.efforts(x)
        a = self.constraints.variable_rows(self.states.views)
        efforts, _, rate = self._free_motion(e, a, flow)
        if self.constraints.row_count:
            rate, _ = self._constrained_rates(a, rate, efforts)
        return rate, efforts

    def midpoint_tangent(
        self, x: Array, e: Array, quadratic_states: Array, dt: float, flow: Array | None
    ) -> tuple[Array, Array]:
        """Return rates and efforts of a step whose constraints hold at the midpoint.

        Args:
            x: state at the midpoint, at which structures are evaluated.
            e: (stored,) discrete efforts.
            quadratic_states: (linear,) the quadratic states at the beginning of the step.
            dt: length of the step, s.
            flow: inputs, or None.
        """
        self.states.set_state(x)
        a = self.constraints.variable_rows(self.states.views)
        efforts, _, rate = self._free_motion(e, a, flow)
        if self.constraints.row_count:
            n = self.layout.quadratic_size
            g = self.constraints.matrix(a)
            gq = g[:, :n] @ self.storages.Q
            s = gq @ g[:, :n].T
            kappa = self.solve(s, gq @ ((2.0 / dt) * quadratic_states + rate[:n]))
            rate = rate - kappa @ g
        return rate, efforts

    def flow_vector(self, inputs: Mapping[str, Array] | None) -> Array | None:
        """Return the flows at outer ports as one vector over all efforts.

        Raises:
            PatternError: an outer power port does not exist.
        """
        if not inputs:
            return None
        flow = np.zeros(self.layout.total_size)
        for name, value in inputs.items():
            port = self.system.pattern.outer.get(name)
            if port is None or port.kind != "power":
                ports = [n for n, p in self.system.pattern.outer.items() if p.kind == "power"]
                raise PatternError(
                    f"there is no outer power port '{name}'; there are {', '.join(ports) or 'none'}"
                )
            flow[self.layout.entries[self.layout.outer[name]]] += value
        return flow

    def supplied_power(self, efforts: Array, flow: Array) -> float:
        """Return the power of the flows at outer ports, W; that of entropy is theta times the flow.

        Args:
            efforts: (total,) at all junctions.
            flow: (total,) as returned by :meth:`flow_vector`.
        """
        return float((efforts + self.theta_0 * self.is_entropy) @ flow)

    def constraint_matrix(self, x: Array) -> Array:
        """Return G, (count,stored)."""
        self.states.set_state(x)
        return self.constraints.matrix(self.constraints.variable_rows(self.states.views))

    def velocity_residual(self, x: Array) -> Array:
        """Return ``G e``, (count,), which is zero on the constraints."""
        e = self.storages.efforts(x)
        return self.constraints.matrix(self.constraints.variable_rows(self.states.views)) @ e

    def solve(self, s: Array, b: Array) -> Array:
        """Return the least solution of ``S kappa = b``, S = G D G^T of the known rank.

        Raises:
            SingularConstraint: S cannot be solved although no constraint is known to be dependent.
        """
        if self.rank is None:
            return np.linalg.lstsq(s, b, rcond=1e-13)[0]
        if self.rank == s.shape[0]:
            try:
                return np.linalg.solve(s, b)
            except np.linalg.LinAlgError:
                raise self.singular_error(s) from None
        # The independent part of the constraints: eigenvectors of the S of unit diagonal.
        scale = np.sqrt(np.diagonal(s))
        eigenvalues, vectors = np.linalg.eigh(s / np.outer(scale, scale))
        basis = vectors[:, s.shape[0] - self.rank :]
        return (basis @ ((basis.T @ (b / scale)) / eigenvalues[s.shape[0] - self.rank :])) / scale

    def impulse_response(self, rows: Array, a: Array) -> tuple[Array, Array]:
        """Return the momenta that unit impulses along rows give, with the reactions to them.

        Args:
            rows: (k,stored) velocities by stored efforts.
            a: A of the constraints.

        Returns:
            The momenta (linear,k), and the impulses (count,k) of the constraints.
        """
        n, q = self.layout.quadratic_size, self.storages.Q
        impulses = rows[:, :n].T
        if not self.constraints.row_count:
            return impulses, np.zeros((0, impulses.shape[1]))
        g = self.constraints.matrix(a)[:, :n]
        s, velocity_change = g @ q @ g.T, g @ q @ impulses
        kappa = np.zeros(velocity_change.shape)
        for k, column in enumerate(velocity_change.T):
            kappa[:, k] = self.solve(s, column)
        return impulses - g.T @ kappa, kappa

    def singular_error(self, s: Array) -> SingularConstraint:
        """Return the error for constraints that have lost rank, naming the joint."""
        scale = np.sqrt(np.maximum(np.diagonal(s), 1e-300))
        _, vectors = np.linalg.eigh(s / np.outer(scale, scale))
        column = s.shape[0] - (self.rank or s.shape[0])
        owner = parent_of(self.constraints.dominant_box(vectors[:, column] / scale))
        return SingularConstraint(
            f"the constraint of '{owner}' is singular here: its forces are not determined (an "
            "outstretched closed chain, or a joint that repeats another)"
        )

    def _free_motion(self, e: Array, a: Array, flow: Array | None) -> tuple[Array, Array, Array]:
        """Return all efforts, all flows, and the rates without constraint forces."""
        c, n = self.constraints, self.layout.stored_size
        w = -(c.solving_rows @ (a @ e))
        free_efforts: Array = c.T @ e + c.to_free @ w
        if self._effort_solver.count:
            free_efforts = self._effort_solver.solve(e, free_efforts, flow)
        efforts = np.concatenate([e, free_efforts])
        phi = self.processes.flows(efforts)
        if flow is not None:
            phi -= flow
        free_flows = c.T.T @ phi[n:] - ((phi[n:] @ c.to_free) @ c.solving_rows) @ a
        return efforts, phi, -(phi[:n] + free_flows)

    def _free_balance(self, e: Array, free_efforts: Array, flow: Array | None) -> Array:
        phi = self.processes.flows(np.concatenate([e, free_efforts]))
        return (phi if flow is None else phi - flow)[self.layout.stored_size :]

    def _constrained_rates(self, a: Array, rate: Array, efforts: Array) -> tuple[Array, Array]:
        """Return the rates with constraint forces, which preserve ``G e = 0``, and these forces."""
        g = self.constraints.matrix(a)
        gd = g @ self.storages.hessian()
        cdot_e = np.zeros(a.shape[0])
        for block, rate_indices, effort_indices in self._varying_constraints:
            cdot_e[block.rows] = block.component.constraint_rate(
                self.states.views[block.box], rate[rate_indices], efforts[effort_indices]
            )
        b: Array = gd @ rate
        m = self.constraints.remaining_rows.shape[0]
        b[:m] += self.constraints.remaining_rows @ cdot_e
        kappa = self.solve(gd @ g.T, b)
        return rate - kappa @ g, kappa

    def _check_varying_constraints(self) -> None:
        constrained = set(self.constraints.columns.tolist())
        for block, rate_indices, _ in self._varying_constraints:
            if constrained & set(rate_indices.tolist()):
                raise PatternError(
                    f"the constraint of '{block.box}' depends on a state whose effort is itself "
                    "constrained; only states that no constraint acts on may change a constraint"
                )
