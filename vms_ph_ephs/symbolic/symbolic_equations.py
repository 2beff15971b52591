# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The equations of a system as expressions, with multipliers or solved for them.

They are those of :class:`~vms_ph_ephs.equations.Equations`: the constant constraints are
eliminated there by numbers, and every law that depends on the state is an expression here.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any, Literal

import numpy as np

from vms_ph_dynamics import Array, ModelError

from ..components import (
    BracketLaw,
    Component,
    Environment,
    Irreversible,
    ProcessLaw,
    Reversible,
    Storage,
    StorageLaw,
)
from ..equations import Equations
from ..errors import StructureError
from ..multibody.joint import HolonomicConstraint
from .algebra import Algebra, CasadiAlgebra, SympyAlgebra

Library = Literal["sympy", "casadi"]


def symbolic(
    equations: Equations, library: Library = "sympy", parameters: Mapping[str, Any] | None = None
) -> "SymbolicEquations":
    """Return the equations of an assembled system as expressions.

    Args:
        equations: of the system.
        library: of the expressions; CasADi for large systems.
        parameters: expressions in place of numbers, by ``"box.parameter"`` as the component
            describes itself, as ``{"ke.matrix": 1 / m}``; a number takes the place of a matrix with
            one entry. Entries of constant constraints stay numbers.

    Raises:
        StructureError: a component is a user-defined function or has static friction; the message
            names its box.
        ModelError: there is no such library, or no such parameter.
        MissingExtraError: the library is not installed.
    """
    algebras: dict[str, type[Algebra]] = {"sympy": SympyAlgebra, "casadi": CasadiAlgebra}
    if library not in algebras:
        raise ModelError(f"the library must be one of {', '.join(algebras)}; given: {library!r}")
    return SymbolicEquations(equations, algebras[library](), dict(parameters or {}))


class SymbolicEquations:
    """The equations of a system as expressions.

    ``xdot = rates`` with the multipliers as symbols and ``0 = constraint``; left-trivialised where
    states are in groups. :meth:`explicit` solves for the multipliers.

    Attributes:
        algebra: of the expressions.
        equations: of the system.
        x: (size,1) symbols of the state vector.
        inputs: symbols of the flows at outer power ports, (d,1), by name.
        multipliers: (count,1) symbols.
        unknowns: (k,1) symbols of efforts that a balance of flows determines.
        efforts: (total,1) of all junctions, stored and free.
        rates: (stored,1).
        constraint: (count,1), zero.
        balance: (k,1), zero.

    Args:
        equations: of the system; :func:`symbolic` makes this object.
        algebra: of the expressions.
        symbols: expressions in place of numbers, by ``"box.parameter"``.

    Raises:
        ModelError: there is no such parameter.
    """

    def __init__(self, equations: Equations, algebra: Algebra, symbols: dict[str, Any]) -> None:
        self.equations, self.algebra = equations, algebra
        layout, a = equations.layout, algebra
        self._parameter_names: dict[str, list[str]] = {}
        self._components = {
            box: self._symbolic(box, component, symbols)
            for box, component in layout.components.items()
        }
        if symbols:
            raise ModelError(
                f"there is no parameter '{next(iter(symbols))}' of a declared part; for the box "
                f"{next(iter(layout.components))} there are "
                f"{', '.join(self._parameter_names[next(iter(layout.components))]) or 'none'}"
            )
        names = [
            _symbol_name(name, k, entry.space.shape)
            for name, entry in layout.states.items()
            for k in range(entry.indices.stop - entry.indices.start)
        ]
        self.x = a.column([a.symbol(name) for name in names])
        self.inputs = {
            name: a.column(
                [
                    a.symbol(_symbol_name(f"{name}_f", k, (port.quantity.space.dimension,)))
                    for k in range(port.quantity.space.dimension)
                ]
            )
            for name, port in equations.system.pattern.outer.items()
            if port.kind == "power"
        }
        self._read_states = {
            box: [self._state(layout.junctions[f"{box}.{port}"]) for port in component.reads]
            for box, component in layout.components.items()
        }
        c, count = equations.constraints, equations.constraints.row_count
        self.multipliers = a.column([a.symbol(f"lambda_{k}") for k in range(count)])
        self.unknowns = a.column([a.symbol(f"w_{k}") for k in range(c.undetermined_basis.shape[1])])
        e = self._stored_efforts()
        self._a = self._constraint_rows()
        free_efforts = a.constant(c.T) @ e
        if c.to_free.shape[1]:
            free_efforts = free_efforts - a.constant(c.to_free @ c.solving_rows) @ (self._a @ e)
        if c.undetermined_basis.shape[1]:
            free_efforts = free_efforts + a.constant(c.undetermined_basis) @ self.unknowns
        self.efforts = a.column([e[i, 0] for i in range(layout.stored_size)] + [
            free_efforts[i, 0] for i in range(layout.total_size - layout.stored_size)
        ])  # fmt: skip
        phi = self._flows()
        n = layout.stored_size
        self.balance = a.constant(c.undetermined_basis.T) @ phi[n:, :]
        free_flows = a.constant(c.T.T) @ phi[n:, :]
        if c.to_free.shape[1]:
            free_flows -= self._a.T @ (a.constant((c.to_free @ c.solving_rows).T) @ phi[n:, :])
        self._free_xdot = -(phi[:n, :] + free_flows)
        self._g = self._constraint_matrix()
        self.constraint = self._g @ e if count else a.column([])
        self.rates = self._free_xdot - self._g.T @ self.multipliers if count else self._free_xdot

    def rate(self, name: str) -> Any:
        """Return the rates of one state, (d,1), by junction or ``"box.port"``."""
        return self.rates[self.equations.layout.find(name).tangent, :]

    def explicit(self) -> Any:
        """Return the rates as expressions of states and inputs alone, (stored,1).

        Raises:
            StructureError: constraints repeat each other, as in closed loops, or a balance of flows
                is not linear in the effort that it determines.
        """
        a, c = self.algebra, self.equations.constraints
        rates = self._free_xdot
        if c.row_count:
            self._check_rank()
            d = a.constant(self.equations.storages.constant_hessian)
            gd = self._g @ d
            b = gd @ rates
            cdot_e = self._cdot_e(rates)
            if cdot_e is not None:
                m = c.remaining_rows.shape[0]
                terms = a.constant(c.remaining_rows) @ cdot_e
                b = a.column([b[i, 0] + (terms[i, 0] if i < m else 0) for i in range(c.row_count)])
            rates = rates - self._g.T @ a.solve_symmetric(gd @ self._g.T, b)
        if c.undetermined_basis.shape[1]:
            jacobian = a.jacobian(self.balance, self.unknowns)
            if a.depends(jacobian, self.unknowns):
                raise StructureError(
                    "an effort is determined by a balance of flows that is not linear in it, so "
                    "that it has no closed form; give the junction a storage, or use rates and "
                    "balance"
                )
            solution = a.solve(jacobian, -a.substitute_zeros(self.balance, self.unknowns))
            rates = self._substituted(rates, solution)
        return rates

    def function(self) -> Any:
        """Return a function of numbers: ``f(x, inputs) -> (stored,)``, as the assembled rates."""
        names = list(self.inputs)
        columns = [self.x, *(self.inputs[name] for name in names)]
        numeric_function = self.algebra.compile_numpy_function(columns, self.explicit())
        widths = [self.inputs[name].shape[0] for name in names]

        def call(x: Array, inputs: Mapping[str, Array] | None = None) -> Array:
            input_values = inputs or {}
            values = [
                np.asarray(input_values.get(name, np.zeros(width)), dtype=np.float64)
                for name, width in zip(names, widths, strict=True)
            ]
            return np.asarray(numeric_function(x, *values)).ravel()

        return call

    def text(self) -> str:
        """Return the equations as text, one line for each rate and constraint."""
        lines = []
        for name, entry in self.equations.layout.states.items():
            for k in range(entry.space.dimension):
                index = "" if entry.space.dimension == 1 else f"[{k}]"
                lines.append(f"d {name}{index} / dt = {self.rates[entry.tangent.start + k, 0]}")
        lines += [f"0 = {self.constraint[k, 0]}" for k in range(self.constraint.shape[0])]
        lines += [f"0 = {self.balance[k, 0]}" for k in range(self.balance.shape[0])]
        return "\n".join(lines)

    def _symbolic(self, box: str, component: Component, symbols: dict[str, Any]) -> Any:
        """Return a component whose numbers are exact, or the expressions given for them."""
        description = component.to_parameters()
        if description is None:
            raise StructureError(
                f"box '{box}' is given by functions, which have no expressions; use a declared "
                "part, such as those of ephs.library"
            )
        symbolic_component: Any = copy(component)
        values = {key: value for key, value in description.items() if key not in ("kind", "ports")}
        if isinstance(component, Reversible) and component.has_constant_skew:
            values["skew"] = component.skew()
        for key, value in values.items():
            expression = symbols.pop(f"{box}.{key}", None)
            if isinstance(value, np.ndarray):
                if expression is None:
                    expression = self.algebra.constant(value)
                elif value.size == 1 and not hasattr(expression, "shape"):
                    expression = self.algebra.matrix([[expression]])
            if expression is not None:
                setattr(symbolic_component, key, expression)
        self._parameter_names.setdefault(box, list(values))
        return symbolic_component

    def _state(self, junction: str) -> Any:
        entry = self.equations.layout.states[junction]
        shape = entry.space.shape
        columns = shape[1] if len(shape) > 1 else 1
        start = entry.indices.start
        return self.algebra.matrix(
            [[self.x[start + i * columns + j, 0] for j in range(columns)] for i in range(shape[0])]
        )

    def _stored_efforts(self) -> Any:
        layout, a = self.equations.layout, self.algebra
        entries: list[Any] = [0] * layout.stored_size
        for box, component in layout.components.items():
            if not isinstance(component, Storage):
                continue
            if not isinstance(component, StorageLaw):
                raise StructureError(f"box '{box}' is of a kind whose energy has no expression")
            d = self._components[box].gradient(a, *self._read_states[box])
            for port, indices in component.slices.items():
                effort_range = layout.entries[layout.junctions[f"{box}.{port}"]]
                for k, i in enumerate(range(effort_range.start, effort_range.stop)):
                    if not isinstance(component, Environment):
                        is_entropy = component.is_entropy[indices.start + k] > 0.0
                        entries[i] = d[indices.start + k] - (self._theta_0() if is_entropy else 0)
        return a.column(entries)

    def _theta_0(self) -> Any:
        """Return the temperature of the environment, an expression if one was given."""
        for component in self._components.values():
            if isinstance(component, Environment):
                return component.theta_0
        return self.equations.theta_0

    def _constraint_rows(self) -> Any:
        c, a = self.equations.constraints, self.algebra
        rows: list[list[Any]] = c.A0.tolist()
        for block in c.blocks:
            joint_rows = self._joint(block.box).law(a, self._read_states[block.box][0])
            for c_columns, matrix, columns in block.terms:
                product = joint_rows[:, c_columns.start : c_columns.stop] @ a.constant(matrix)
                for i in range(block.component.row_count):
                    for k, j in enumerate(columns.tolist()):
                        rows[block.rows.start + i][j] = (
                            rows[block.rows.start + i][j] + product[i, k]
                        )
        return a.matrix(rows)

    def _joint(self, box: str) -> HolonomicConstraint:
        component = self._components[box]
        if not isinstance(component, HolonomicConstraint):
            raise StructureError(f"box '{box}' is of a kind whose constraint has no expression")
        return component

    def _constraint_matrix(self) -> Any:
        c, a = self.equations.constraints, self.algebra
        if not c.remaining_rows.shape[0]:
            return a.constant(c.fixed_rows)
        g = a.constant(c.remaining_rows) @ self._a
        if not c.fixed_rows.shape[0]:
            return g
        stored_size = self.equations.layout.stored_size
        rows = [[g[i, j] for j in range(stored_size)] for i in range(c.remaining_rows.shape[0])]
        return a.matrix([*rows, *c.fixed_rows.tolist()])

    def _flows(self) -> Any:
        layout, a = self.equations.layout, self.algebra
        flows: list[Any] = [0] * layout.total_size
        for name, flow in self.inputs.items():
            indices = layout.entries[layout.outer[name]]
            for k, i in enumerate(range(indices.start, indices.stop)):
                flows[i] = flows[i] - flow[k, 0]
        for box, component in layout.components.items():
            if isinstance(component, Storage):
                continue
            index = self.equations.processes.indices[box].tolist()
            e = a.column([self.efforts[i, 0] for i in index])
            flow = self._flow(box, component, e)
            for k, i in enumerate(index):
                flows[i] = flows[i] + flow[k, 0]
        return a.column(flows)

    def _flow(self, box: str, component: Component, e: Any) -> Any:
        part, reads, a = self._components[box], self._read_states[box], self.algebra
        if isinstance(component, ProcessLaw):
            return a.column(part.law(a, reads, e, self._theta_0()))
        if isinstance(component, BracketLaw):
            return a.column(part.law(a, reads, e))
        if isinstance(component, Irreversible):
            kind = component.to_parameters()["kind"]  # type: ignore[index]
            raise StructureError(
                f"box '{box}' is of the kind '{kind}', whose force is no "
                "function of state and velocity, so that it has no expression"
            )
        return part.skew @ e

    def _cdot_e(self, rates: Any) -> Any | None:
        c, a, layout = self.equations.constraints, self.algebra, self.equations.layout
        rows: list[Any] = [0] * self._a.shape[0]
        if not c.blocks:
            return None
        for block in c.blocks:
            u = a.column([rates[i, 0] for i in layout.rate_indices(block.box).tolist()])
            index = self.equations.processes.indices[block.box].tolist()
            e = a.column([self.efforts[i, 0] for i in index])
            joint = self._joint(block.box)
            rows[block.rows] = joint.rate_law(a, self._read_states[block.box][0], u, e)
        return a.column(rows)

    def _check_rank(self) -> None:
        g = self.equations.constraint_matrix(self.equations.states.vector())
        if np.linalg.matrix_rank(g) < g.shape[0] or self.equations.storages.constrained_nonlinear:
            raise StructureError(
                "the constraints repeat each other, as in a closed loop, or act on an energy that "
                "is not quadratic, so that their forces have no closed form; use rates and "
                "constraint, which have the multipliers as symbols"
            )

    def _substituted(self, rates: Any, solution: Any) -> Any:
        a = self.algebra
        if isinstance(a, SympyAlgebra):
            pairs = {self.unknowns[k, 0]: solution[k, 0] for k in range(solution.shape[0])}
            return rates.subs(pairs)
        import casadi

        return casadi.substitute(rates, self.unknowns, solution)


def _symbol_name(name: str, k: int, shape: tuple[int, ...]) -> str:
    """Return the name of one entry of a state, as ``body_q_12`` for row 1 and column 2."""
    base_name = name.replace(".", "_")
    if len(shape) > 1:
        return f"{base_name}_{k // shape[1] + 1}{k % shape[1] + 1}"
    return base_name if shape == (1,) else f"{base_name}_{k + 1}"
