# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Radau IIA collocation with an odd number of stages: L-stable, for motions with stiff contact.

The order is ``2 s - 1`` for s stages. The collocation polynomial gives the state within a step, and
the same nodes and weights integrate powers to energies. After E. Hairer and G. Wanner, "Solving
Ordinary Differential Equations II", IV.8.

``scipy.integrate.Radau`` is not used: it has order five only, port powers would enlarge its Newton
system, and it interpolates at events instead of ending a step there, so that the energy balance
would not close.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import sqrt

import numpy as np
from numpy.polynomial import legendre

from vms_ph_dynamics import Array, VmsPhError
from vms_ph_dynamics.arrays import frozen

StateFunction = Callable[[Array], Array]
"""A function of the state (N,) alone: its rate (N,), or powers (P,)."""


class StiffStepError(VmsPhError):
    """A step that fails even at the smallest step size."""


class RadauTableau:
    """Nodes and weights of Radau IIA with s stages, computed from their definition.

    Attributes:
        c: (s,) nodes in (0, 1], the last is 1.
        A: (s,s) ``A[i, j]`` is the integral of the j-th Lagrange polynomial up to c_i.
        A_inverse: its inverse.
        error_weights: (s,) weights of the stage rates in the error estimate.
        gamma: the real eigenvalue of A, the weight of the rate at the start in that estimate.
    """

    def __init__(self, stages: int) -> None:
        """Compute the tableau of an odd number of stages.

        Raises:
            ValueError: the number is even, so that A has no real eigenvalue.
        """
        if stages % 2 == 0:
            raise ValueError(f"the number of stages must be odd; given: {stages}")
        # Zeros of P_s - P_{s-1}, shifted from (-1, 1) to (0, 1).
        legendre_series = np.zeros(stages + 1)
        legendre_series[stages], legendre_series[stages - 1] = 1.0, -1.0
        self.c = frozen(np.sort(0.5 * (1.0 + legendre.legroots(legendre_series).real)))
        # In shifted Legendre polynomials, since powers of c would lose four digits with seven
        # stages.
        polynomials = legendre.legvander(2.0 * self.c - 1.0, stages - 1)
        self._to_coefficients = np.linalg.inv(polynomials)
        self.A = frozen(_integrals(self.c, stages) @ self._to_coefficients)
        self.A_inverse = frozen(np.linalg.inv(self.A))
        eigenvalues = np.linalg.eigvals(self.A)
        self.gamma = float(eigenvalues[np.argmin(np.abs(eigenvalues.imag))].real)
        at_start = (-1.0) ** np.arange(stages)
        error_moments = _integrals(1.0, stages) - self.gamma * at_start
        self.error_weights = frozen(np.linalg.solve(polynomials.T, error_moments) - self.A[-1])

        # Steps are evaluated at the same few fractions over and over.
        self.weights_up_to = lru_cache(maxsize=64)(self._weights_up_to)

    @property
    def stages(self) -> int:
        """The number s of stages."""
        return len(self.c)

    def _weights_up_to(self, fraction: float) -> Array:
        """Return weights that integrate from the start of a step to ``fraction`` of it, (s,)."""
        # As _integrals, with plain numbers for speed: searches for contacts call it often.
        x, p_previous, p = 2.0 * fraction - 1.0, 1.0, 2.0 * fraction - 1.0
        integrals = [fraction]
        for k in range(1, self.stages):
            p_next = ((2 * k + 1) * x * p - k * p_previous) / (k + 1)
            integrals.append((p_next - p_previous) / (2 * (2 * k + 1)))
            p_previous, p = p, p_next
        return frozen(np.array(integrals) @ self._to_coefficients)


def _integrals(c: Array | float, degree: int) -> Array:
    """Return the integrals of the first shifted Legendre polynomials from 0 to c, (..., count)."""
    p = legendre.legvander(2.0 * np.asarray(c) - 1.0, degree).reshape(*np.shape(c), degree + 1)
    integrals: Array = np.empty(p[..., :degree].shape)
    integrals[..., 0] = c
    degrees = np.arange(1, degree)
    integrals[..., 1:] = (p[..., 2:] - p[..., :-2]) / (2.0 * (2.0 * degrees + 1.0))
    return integrals


@dataclass(frozen=True)
class CollocationStep:
    """An accepted step.

    Attributes:
        start, end: the times, s.
        start_state: (N,) the state at the start.
        rates: (s,N) rates of the state at the nodes.
        node_states: (s,N) the states there.
        power_function: the powers integrated along with the state, by the state, W.
        tableau: of the scheme.
    """

    start: float
    end: float
    start_state: Array
    rates: Array
    node_states: Array
    power_function: StateFunction
    tableau: RadauTableau

    @property
    def length(self) -> float:
        """Length of the step, s."""
        return self.end - self.start

    @cached_property
    def powers(self) -> Array:
        """The powers at the nodes, (s,P), W; computed on first use, as few steps are kept."""
        return np.array([self.power_function(state) for state in self.node_states])

    @cached_property
    def end_state(self) -> Array:
        """The state at the end, (N,)."""
        return self.start_state + self.length * (self.tableau.A[-1] @ self.rates)

    @cached_property
    def energies(self) -> Array:
        """The powers integrated over the step, (P,), J."""
        return self.length * (self.tableau.A[-1] @ self.powers)

    def state(self, fraction: float) -> Array:
        """Return the state at a fraction of the step, by the collocation polynomial, (N,)."""
        return self.start_state + self.length * (self.tableau.weights_up_to(fraction) @ self.rates)

    def energies_until(self, fraction: float) -> Array:
        """Return the powers integrated up to a fraction of the step, (P,), J."""
        return self.length * (self.tableau.weights_up_to(fraction) @ self.powers)


class RadauStepper:
    """Integrates a stiff motion with adaptive steps.

    Attributes:
        time: s.
        state: (N,).
    """

    _MAX_NEWTON_ITERATIONS = 10
    _SAFETY_FACTOR = 0.9

    def __init__(
        self,
        rate: StateFunction,
        powers: StateFunction,
        state: Array,
        time: float = 0.0,
        *,
        scale: Array,
        tolerance: float = 1e-9,
        first_step: float = 1e-5,
        largest_step: float = 1e-2,
        stages: int = 5,
    ) -> None:
        """Start at a state.

        Args:
            rate: right-hand side of the equation of motion.
            powers: powers that are integrated along with the state, with the same nodes.
            state: (N,).
            time: s.
            scale: (N,) the size of each entry of the state; the error is measured against it.
            tolerance: of the error of one step relative to the scale.
            first_step: initial step size, s.
            largest_step: upper bound of the step size, s.
            stages: an odd number; the order is twice that less one.
        """
        self.rate, self.powers = rate, powers
        self.state, self.time = state.copy(), time
        self.tableau = _tableau(stages)
        self._scale, self._tolerance = scale, tolerance
        self._step_size, self._largest_step = first_step, largest_step
        self._jacobian: Array | None = None
        self._jacobian_is_fresh = False
        self._inverses: tuple[float, Array, Array] | None = None
        self._last_step: CollocationStep | None = None

    def restart(self, state: Array, first_step: float) -> None:
        """Continue from another state after an event that changed the motion."""
        self.state, self._step_size = state.copy(), first_step
        self._jacobian, self._inverses, self._last_step = None, None, None

    def propose(self, end_time: float) -> CollocationStep:
        """Return a step, no further than ``end_time``, whose error is within the tolerance.

        The stepper does not advance until :meth:`accept`.

        Raises:
            StiffStepError: the step size would have to be below rounding.
        """
        while True:
            desired_step = min(self._step_size, self._largest_step)
            if desired_step <= 1e-14 * max(1.0, abs(self.time)):
                raise StiffStepError(
                    f"the motion at t = {self.time:.9g} s needs steps below "
                    f"{desired_step:.3g} s; check gains and contact parameters for values that "
                    "are far too stiff"
                )
            h = min(desired_step, end_time - self.time)
            step = self.attempt(h)
            if step is None:
                self._reduce_step(0.25 * h)
                continue
            error = self._error_estimate(step)
            factor = self._SAFETY_FACTOR * max(error, 1e-12) ** (-1.0 / (self.tableau.stages + 1))
            if error < 1.0:
                # A longer step costs a factorisation, so that a slightly longer one does not pay
                # off.
                if factor > 1.3 and h == desired_step:
                    self._step_size = h * min(factor, 6.0)
                return step
            self._reduce_step(h * max(0.2, factor))

    def attempt(self, h: float) -> CollocationStep | None:
        """Return the step of length h from the present state; None if Newton did not converge."""
        increments = self._solve(h)
        if increments is None:
            return None
        rates = self.tableau.A_inverse @ increments / h
        nodes = self.state + increments
        return CollocationStep(
            self.time, self.time + h, self.state, rates, nodes, self.powers, self.tableau
        )

    def accept(self, step: CollocationStep) -> None:
        """Move to the end of a step."""
        self.state, self.time, self._last_step = step.end_state, step.end, step
        self._jacobian_is_fresh = False

    def _solve(self, h: float) -> Array | None:
        """Return the increments z (s,N) from the state y to the stages; None if Newton diverges."""
        tableau, y = self.tableau, self.state
        z = self._extrapolated_increments(h)
        inverse, _ = self._inverses_for(h)
        previous_norm, contraction = np.inf, 0.0
        for _ in range(self._MAX_NEWTON_ITERATIONS):
            # An iterate may leave the domain of the motion, which counts as divergence.
            try:
                with np.errstate(all="ignore"):
                    rates = np.array([self.rate(y + increment) for increment in z])
            except np.linalg.LinAlgError:
                return None
            residual = h * (tableau.A @ rates) - z
            if not np.isfinite(residual).all():
                return None
            correction = (inverse @ residual.ravel()).reshape(z.shape)
            z = z + correction
            norm = self._scaled_norm(correction)
            if np.isfinite(previous_norm) and previous_norm > 0.0:
                contraction = norm / previous_norm
                if contraction >= 1.0 and norm <= 1e-2 * self._tolerance:
                    # The remaining change is rounding.
                    return z
                if contraction >= 1.0:
                    break
            # Far below the tolerance, so that the error of the energy balance is that of the
            # scheme.
            error = norm * contraction / (1.0 - contraction) if contraction else norm
            if error <= 1e-4 * self._tolerance or norm == 0.0:
                if contraction > 0.1:
                    self._jacobian, self._inverses = None, None
                return z
            previous_norm = norm
        if self._jacobian_is_fresh:
            return None
        self._jacobian, self._inverses = None, None
        return self._solve(h)

    def _extrapolated_increments(self, h: float) -> Array:
        """Return those of the stages of a step of length h by the last step's polynomial, (s,N)."""
        last_step = self._last_step
        if last_step is None:
            return np.zeros((self.tableau.stages, len(self.state)))
        fractions = (1.0 + self.tableau.c * (h / last_step.length)).tolist()
        weights = np.array([self.tableau.weights_up_to(fraction) for fraction in fractions])
        return (last_step.start_state - self.state) + last_step.length * (weights @ last_step.rates)

    def _inverses_for(self, h: float) -> tuple[Array, Array]:
        """Return the inverse matrices of Newton's method and of the error filter."""
        if self._jacobian is None:
            self._jacobian = self._differenced_jacobian()
            self._jacobian_is_fresh, self._inverses = True, None
        if self._inverses is None or self._inverses[0] != h:
            stages, size = self.tableau.stages, len(self.state)
            # The Kronecker product of A and the Jacobian.
            blocks = self.tableau.A[:, None, :, None] * (h * self._jacobian)[:, None]
            newton_matrix = np.eye(stages * size) - blocks.reshape(stages * size, -1)
            error_matrix = np.eye(size) - h * self.tableau.gamma * self._jacobian
            self._inverses = (h, np.linalg.inv(newton_matrix), np.linalg.inv(error_matrix))
        return self._inverses[1], self._inverses[2]

    def _differenced_jacobian(self) -> Array:
        y, rate_at_state = self.state, self.rate(self.state)
        columns = []
        for i, scale in enumerate(self._scale):
            shifted_state = y.copy()
            # The square root of rounding, relative to the size of the entry.
            shifted_state[i] += 1e-8 * max(abs(y[i]), scale)
            columns.append((self.rate(shifted_state) - rate_at_state) / (shifted_state[i] - y[i]))
        return np.stack(columns, axis=1)

    def _error_estimate(self, step: CollocationStep) -> float:
        """Return the error of a step over the tolerance."""
        h = step.length
        _, inverse = self._inverses_for(h)
        increment = h * (self.tableau.error_weights @ step.rates)
        filter_step = h * self.tableau.gamma
        error = inverse @ (increment + filter_step * self.rate(step.start_state))
        if self._scaled_norm(error) >= self._tolerance:
            # In the stiff directions the estimate is far too large unless it is filtered twice.
            error = inverse @ (increment + filter_step * self.rate(step.start_state + error))
        return self._scaled_norm(error) / self._tolerance

    def _scaled_norm(self, change: Array) -> float:
        """Return the root mean square of changes (..., N) relative to the scale."""
        scaled_changes = (change / self._scale).ravel()
        return sqrt(float(scaled_changes.dot(scaled_changes)) / scaled_changes.size)

    def _reduce_step(self, h: float) -> None:
        self._step_size = h
        if not self._jacobian_is_fresh:
            self._jacobian = None
        self._inverses = None


_tableau = cache(RadauTableau)
