# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pushed robots with gains at corners of their bounds: they come to rest, or gain no energy."""

import numpy as np
import pytest

from ..support.pushed_robots import random_case, run

# Error of the integration of the plant, and what is left of the push at the end.
ADDED, LEFT = 1e-6, 1e-3


def campaign(cases: range, damped: bool, seconds: float) -> None:
    for k in cases:
        rng = np.random.default_rng([15, k])
        case = random_case(rng, damped)
        outcome = run(case, rng, seconds)
        if damped:
            assert outcome.last < LEFT * outcome.pushed, case
        else:
            assert outcome.most < (1.0 + ADDED) * outcome.pushed, case


@pytest.mark.usefixtures("core")
def test_a_pushed_robot_comes_to_rest_at_corners_with_damping() -> None:
    campaign(range(5), True, 0.5)


@pytest.mark.usefixtures("core")
def test_a_pushed_robot_gains_no_energy_at_corners_without_damping() -> None:
    campaign(range(5), False, 0.5)


@pytest.mark.usefixtures("core")
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_pushed_robots_come_to_rest_at_a_thousand_corners_with_damping() -> None:
    campaign(range(1000), True, 2.0)


@pytest.mark.usefixtures("core")
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_pushed_robots_gain_no_energy_at_a_thousand_corners_without_damping() -> None:
    campaign(range(1000), False, 2.0)
