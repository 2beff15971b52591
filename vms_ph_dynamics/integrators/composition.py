# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Higher order from a symmetric scheme: Suzuki's composition of five steps."""

from ..arrays import Array
from ..forms import PHState
from .robot_stepper import RobotStepper
from .step import Acting
from .stepper import SolverState, StepResult

_OUTER = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
FRACTIONS = (_OUTER, _OUTER, 1.0 - 4.0 * _OUTER, _OUTER, _OUTER)


class Suzuki(RobotStepper):
    """A symmetric scheme of order two, composed of five steps to one of order four.

    The middle one of the five goes back in time. The invariants of the inner scheme are preserved
    (M. Suzuki, Physics Letters A 146, 1990).
    """

    order = 4

    def __init__(self, inner: RobotStepper) -> None:
        super().__init__(inner.form, inner.gravity)
        self._inner = inner
        self.closes_balance = inner.closes_balance

    def begin(self, state: PHState, t: float) -> SolverState:
        """Return the solver state of the inner scheme."""
        return self._inner.begin(state, t)

    def motion(self, solver_state: SolverState) -> tuple[Array, Array]:
        """Return configuration and velocity in the inertial frame."""
        return self._inner.motion(solver_state)

    def step(self, solver_state: SolverState, ports: Acting, t: float, dt: float) -> StepResult:
        """Return the state after ``dt``; see :meth:`Stepper.step`."""
        supplied: dict[str, float] = {}
        dissipated, iterations = 0.0, 0
        for fraction in FRACTIONS:
            part = self._inner.step(solver_state, ports, t, fraction * dt)
            solver_state, t = part.solver_state, t + fraction * dt
            for name, energy in part.supplied.items():
                supplied[name] = supplied.get(name, 0.0) + energy
            dissipated += part.dissipated
            iterations += part.iterations
        return StepResult(solver_state, supplied, dissipated, iterations)
