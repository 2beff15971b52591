# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Reversible exchange of power: Dirac structures, with constraints [C (3), (28)]."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from ..errors import LawError, StructureError
from ..patterns import Interface
from .component import CHECK_SAMPLES, NUMERIC, ROUNDING, Component, States, kind, matrix_of

_STEP, _TOLERANCE = 1e-5, 1e-7


class Reversible(Component):
    """The Dirac structure ``f = J(x) e + C(x)^T lambda,  0 = C(x) e``.

    Every Dirac structure has this form: with C empty it is the graph of the skew J; a transformer
    or an offset has C only.

    Args:
        ports: its ports.
        skew: J, a constant matrix, or a function of the states of ``reads``.
        constraint: C, a constant matrix, or a function of the states of ``reads``.
        constraint_rate: for a C that is a function: takes the states of ``reads``, their rates
            (left-trivialised, stacked) and e, and returns ``Cdot e``.
        reads: ports whose states J and C depend on.
        constant_columns: ports whose columns of a function C do not depend on the state; an effort
            without storage can be solved for only there.

    Raises:
        StructureError: a matrix has a wrong shape, or a constraint that is a function has no rate.
    """

    def __init__(
        self,
        ports: Interface,
        *,
        skew: Any = None,
        constraint: Any = None,
        constraint_rate: Callable[..., Array] | None = None,
        reads: Iterable[str] = (),
        constant_columns: Iterable[str] = (),
    ) -> None:
        super().__init__(ports, reads)
        n = self.width
        self._skew = (
            skew if callable(skew) or skew is None else frozen(matrix_of(skew, (n, n), "J"))
        )
        self._constraint = constraint
        self.row_count = 0
        if constraint is not None and not callable(constraint):
            rows = np.asarray(constraint).shape[0]
            self._constraint = frozen(matrix_of(constraint, (rows, n), "C"))
        if constraint is not None:
            sample = self.constraint(*self.random_states(np.random.default_rng(0)))
            self.row_count = matrix_of(sample, (len(sample), n), "C").shape[0]
        if callable(constraint) and constraint_rate is None:
            raise StructureError("a constraint that is a function of the state needs its rate")
        self._constraint_rate = constraint_rate
        self.constant_columns = tuple(constant_columns)

    @property
    def has_constant_skew(self) -> bool:
        """Whether J is a constant."""
        return not callable(self._skew)

    @property
    def has_constant_constraint(self) -> bool:
        """Whether C is a constant."""
        return not callable(self._constraint)

    def skew(self, *states: Array) -> Array:
        """Return J, (width,width)."""
        if self._skew is None:
            return np.zeros((self.width, self.width))
        return self._skew(*states) if callable(self._skew) else self._skew

    @property
    def is_lawful(self) -> bool:
        """Whether the bracket makes no power by construction: J is a constant that was checked."""
        return self.has_constant_skew

    def check_bracket(self, name: str, e: Array, flow: Array) -> None:
        """Raise an error if a bracket at efforts that occur makes power.

        Raises:
            LawError: it does; the message names the box.
        """
        generated_power = -float(e @ flow)
        if abs(generated_power) > ROUNDING * float(np.abs(e) @ np.abs(flow)) + 1e-300:
            raise LawError(
                f"the first law fails in box '{name}': at the efforts {e.tolist()} its Dirac "
                f"structure makes {generated_power:.6g} W; its J must be skew at every state"
            )

    def to_parameters(self) -> Mapping[str, Any] | None:
        """Return J and C, if they are constants."""
        if type(self) is not Reversible:
            return super().to_parameters()
        if not (self.has_constant_skew and self.has_constant_constraint):
            return None
        skew = {"skew": self.skew()} if self.skew().any() or not self.row_count else {}
        constraint = {"constraint": self.constraint()} if self.row_count else {}
        return {"kind": "reversible", "ports": self.interface, **skew, **constraint}

    def bracket(self, states: States, e: Array) -> Array:
        """Return ``J(x) e``; a component may compute it without the matrix."""
        return self.skew(*states) @ e

    def constraint(self, *states: Array) -> Array:
        """Return C, (rows,width)."""
        if self._constraint is None:
            return np.zeros((0, self.width))
        return self._constraint(*states) if callable(self._constraint) else self._constraint

    def constraint_rate(self, states: States, rates: Array, e: Array) -> Array:
        """Return ``Cdot e`` while the states move at their rates, (rows,)."""
        if self._constraint_rate is None:
            return np.zeros(self.row_count)
        return self._constraint_rate(states, rates, e)

    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Raise an error if J is not skew or the rate of C is wrong.

        Raises:
            StructureError: one is; for J the message names the two ports.
        """
        if self.has_constant_skew:
            self._check_skew(name, self.skew(), 0.0)
        self._check_entropy(name, self.random_states(rng))
        for _ in range(CHECK_SAMPLES if self.reads else 0):
            states = self.random_states(rng)
            if not self.has_constant_skew:
                matrix = matrix_of(self.skew(*states), (self.width, self.width), f"J of '{name}'")
                self._check_skew(name, matrix, ROUNDING * (1.0 + float(np.abs(matrix).max())))
                e = self.random_efforts(rng, 1.0)
                if np.abs(matrix @ e - self.bracket(tuple(states), e)).max() > ROUNDING:
                    raise StructureError(f"box '{name}': its bracket is not its matrix J times e")
            if not self.has_constant_constraint:
                self._check_rate(name, states, rng)

    def _check_entropy(self, name: str, states: list[Array]) -> None:
        """Check that the exchange of entropy is balanced: none is produced or destroyed."""
        entropy_imbalance = np.concatenate(
            [self.is_entropy @ self.skew(*states), self.constraint(*states) @ self.is_entropy]
        )
        if np.abs(entropy_imbalance).max(initial=0.0) > ROUNDING:
            port = next(p for p, indices in self.slices.items() if self.is_entropy[indices].any())
            raise StructureError(
                f"box '{name}', port '{port}': a reversible component must pass on as much entropy "
                "as it takes; heat that appears belongs to an irreversible component"
            )

    def _check_skew(self, name: str, matrix: Array, tolerance: float) -> None:
        symmetric_part = np.abs(matrix + matrix.T)
        if symmetric_part.size and not symmetric_part.max() <= tolerance:
            i, j = np.unravel_index(int(symmetric_part.argmax()), symmetric_part.shape)
            raise StructureError(
                f"box '{name}': its Dirac structure is not skew between the ports "
                f"'{self.port_at(int(i))}' and '{self.port_at(int(j))}', where J has the entries "
                f"{matrix[i, j]:.6g} and {matrix[j, i]:.6g}, so it would make power; one must be "
                "minus the other (is a flow sign wrong?)"
            )

    def _check_rate(self, name: str, states: list[Array], rng: np.random.Generator) -> None:
        spaces = [self.interface[port].quantity.space for port in self.reads]
        rates = [rng.uniform(-1.0, 1.0, space.dimension) for space in spaces]
        e = self.random_efforts(rng, 1.0)
        displaced_values = [
            self.constraint(
                *(
                    s.step(state, sign * _STEP * rate)
                    for s, state, rate in zip(spaces, states, rates, strict=True)
                )
            )
            @ e
            for sign in (1.0, -1.0)
        ]
        numeric_rate = (displaced_values[0] - displaced_values[1]) / (2.0 * _STEP)
        analytic = self.constraint_rate(tuple(states), np.concatenate(rates), e)
        if not np.abs(numeric_rate - analytic).max() <= _TOLERANCE * (1.0 + np.abs(analytic).max()):
            raise StructureError(
                f"box '{name}': the rate of its constraint is not the derivative of the "
                f"constraint (off by {np.abs(numeric_rate - analytic).max():.3g})"
            )


@kind("reversible", "f = J e + C^T lambda, 0 = C e with constants", component_class=Reversible)
def reversible(ports: Interface, skew: Any = None, constraint: Any = None) -> Reversible:
    """Return a :class:`Reversible` of constants, as files hold it."""
    return Reversible(ports, skew=skew, constraint=constraint)


class BracketLaw(Reversible):
    """A Dirac structure ``f = J(x) e`` whose flows are a formula, for numbers and for expressions.

    Args:
        interface: its ports.
        reads: ports whose states J depends on.
    """

    def __init__(self, interface: Interface, reads: Iterable[str]) -> None:
        super().__init__(interface, skew=self._matrix, reads=reads)

    @property
    def is_lawful(self) -> bool:
        """True: the formula is skew at all states."""
        return True

    @abstractmethod
    def law(self, ops: Any, states: Any, e: Any) -> list[Any]:
        """Return the flows; ops has the operations, ``NumericOps`` or an ``Algebra``."""

    def bracket(self, states: States, e: Array) -> Array:
        """Return the flows of the formula, (width,)."""
        return np.array(
            self.law(NUMERIC, [state.tolist() for state in states], e.tolist()), dtype=np.float64
        )

    def _matrix(self, *states: Array) -> Array:
        return np.column_stack([self.bracket(states, unit) for unit in np.eye(self.width)])
