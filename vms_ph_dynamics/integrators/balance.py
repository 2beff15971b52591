# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The check of the energy balance after every step of a scheme that closes it."""

from .stepper import SolverState, StepFailure, Stepper, StepResult

# Share of the energies involved by which a step may miss its balance. Rounding is the share 1e-16
# times the condition of the inertia, and the schemes keep up to 1e-7 of the energy for the next
# step where the shape stands still (see the projection and the discrete gradient). A mistake in an
# effort or in gravity is of the size of its power times the step: 1e-3 of the energies and more.
SHARE = 1e-6


class BalanceMissed(StepFailure):
    """Steps whose energy did not change by the energies that crossed the ports."""


def check_balance(
    stepper: Stepper, before: SolverState, result: StepResult, steps: int = 1
) -> None:
    """Check that the energy of a closed balance has changed by the port energies.

    The residual must be below the share 1e-6 of the energies involved: of both states, and those
    that crossed the ports. Several steps may miss the sum of what each may.

    Args:
        stepper: the scheme; where it promises no closed balance, nothing is checked.
        before: the solver state at the beginning.
        result: of the step, or of several together.
        steps: how many.

    Raises:
        BalanceMissed: the residual is far above rounding.
    """
    first = stepper.stored(before)
    last = None if first is None else stepper.stored(result.solver_state)
    if first is None or last is None:
        return
    crossed = [*result.supplied.values(), -result.dissipated]
    residual = last.total - first.total - sum(crossed)
    size = first.size + last.size + sum(map(abs, crossed))
    allowed = steps * (SHARE * size + first.floor + last.floor)
    if not abs(residual) <= allowed:  # not a number is not accepted either
        raise BalanceMissed(
            f"the energy changes by {residual:.3g} J that crossed no port, beside energies of "
            f"{size:.3g} J; rounding leaves at most {allowed:.3g} J"
        )
