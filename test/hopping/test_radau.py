# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Radau IIA: its order, its stability, and the energies it integrates."""

import numpy as np
import pytest

from vms_ph_hopping.radau import RadauStepper, RadauTableau, StiffStepError


def nothing(y: np.ndarray) -> np.ndarray:
    return np.zeros(0)


def end(stepper: RadauStepper, until: float) -> int:
    steps = 0
    while stepper.time < until:
        stepper.accept(stepper.propose(until))
        steps += 1
    return steps


@pytest.mark.parametrize("stages", [1, 3, 5, 7])
def test_the_tableau_integrates_polynomials_to_the_order_it_promises(stages: int) -> None:
    t = RadauTableau(stages)
    assert t.c[-1] == pytest.approx(1.0, abs=1e-14)
    for degree in range(2 * stages - 1):
        assert t.A[-1] @ t.c**degree == pytest.approx(1 / (degree + 1), abs=1e-13)
    # L-stability: R(z) -> 0 for z -> -infinity.
    for z in (-1e3, -1e6):
        ones = np.ones(stages)
        growth = 1 + z * t.A[-1] @ np.linalg.solve(np.eye(stages) - z * t.A, ones)
        assert abs(growth) < 10 * stages**2 / abs(z)
    # The error estimate leaves polynomials alone up to the number of stages.
    for degree in range(1, stages):
        assert t.error_weights @ t.c**degree == pytest.approx(0.0, abs=1e-12)


def test_three_stages_are_those_of_the_book() -> None:
    t = RadauTableau(3)
    assert t.c[:2] == pytest.approx([(4 - 6**0.5) / 10, (4 + 6**0.5) / 10], abs=1e-14)
    assert t.A[0, 0] == pytest.approx((88 - 7 * 6**0.5) / 360, abs=1e-14)
    assert t.gamma == pytest.approx(1 / 3.637834252744496, abs=1e-12)


@pytest.mark.parametrize("stages", [3, 5])
def test_halving_the_step_gains_the_order_of_the_scheme(stages: int) -> None:
    def pendulum(y: np.ndarray) -> np.ndarray:
        return np.array([y[1], -np.sin(y[0])])

    def fixed(h: float) -> np.ndarray:
        stepper = RadauStepper(
            pendulum,
            nothing,
            np.array([1.0, 0.0]),
            scale=np.ones(2),
            tolerance=1e-11,
            stages=stages,
        )
        for _ in range(round(4.0 / h)):
            step = stepper.attempt(h)
            assert step is not None
            stepper.accept(step)
        return stepper.state

    exact = fixed(0.05)
    sizes = np.array([1.0, 0.5]) if stages == 5 else np.array([0.5, 0.25])
    errors = [float(np.abs(fixed(h) - exact).max()) for h in sizes]
    slope = np.log(errors[0] / errors[1]) / np.log(2.0)
    assert slope > 2 * stages - 1.6


def test_a_stiff_relaxation_oscillation_is_met_to_its_tolerance() -> None:
    """Van der Pol, mu = 1000, against a run with a hundredth of the tolerance and more stages."""

    def rate(y: np.ndarray) -> np.ndarray:
        return np.array([y[1], 1e3 * (1 - y[0] ** 2) * y[1] - y[0]])

    def ended(tolerance: float, stages: int) -> tuple[RadauStepper, int, float]:
        stepper = RadauStepper(
            rate,
            lambda y: y[1:],
            np.array([2.0, 0.0]),
            scale=np.ones(2),
            tolerance=tolerance,
            largest_step=1e3,
            stages=stages,
        )
        steps, travelled = 0, 0.0
        while stepper.time < 500.0:
            step = stepper.propose(500.0)
            travelled += step.energies[0]
            stepper.accept(step)
            steps += 1
        return stepper, steps, travelled

    coarse, steps, travelled = ended(1e-7, 5)
    fine, _, _ = ended(1e-9, 7)
    # An explicit scheme needs 1e5 steps here.
    assert steps < 40
    assert np.abs(coarse.state - fine.state).max() < 1e-7
    # What is integrated along with the motion closes with it.
    assert travelled == pytest.approx(coarse.state[0] - 2.0, abs=1e-12)


def test_the_state_within_a_step_follows_the_motion() -> None:
    stepper = RadauStepper(
        lambda y: np.array([y[1], -y[0]]),
        lambda y: y[:1],
        np.array([1.0, 0.0]),
        scale=np.ones(2),
        first_step=0.3,
    )
    step = stepper.attempt(0.3)
    assert step is not None
    for part in (0.2, 0.5, 0.9):
        # A polynomial of degree five over 0.3 rad.
        assert step.state(part)[0] == pytest.approx(np.cos(0.3 * part), abs=1e-7)
        assert step.energies_until(part)[0] == pytest.approx(np.sin(0.3 * part), abs=1e-7)
    assert step.end_state[0] == pytest.approx(np.cos(0.3), abs=1e-11)


def test_a_motion_that_cannot_go_on_is_an_error_with_its_reason() -> None:
    stepper = RadauStepper(
        lambda y: np.where(y < 1.5, 1.0, np.nan), nothing, np.array([1.0]), scale=np.ones(1)
    )
    with pytest.raises(StiffStepError, match="needs steps below"):
        end(stepper, 2.0)


def test_an_even_number_of_stages_is_refused() -> None:
    with pytest.raises(ValueError, match="must be odd; given: 4"):
        RadauTableau(4)
