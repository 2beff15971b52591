# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Wind and pushes at given times."""

import numpy as np
import pytest

from vms_ph_dynamics.simulation.surroundings import Pushes, Wind


def test_a_gust_changes_the_speed_of_the_wind_by_its_amplitude() -> None:
    wind = Wind(np.array([0.0, 4.0, 3.0]), gust=2.0, period=8.0, drag_area=0.5, density=1.2)
    for time, speed in ((0.0, 5.0), (2.0, 7.0), (4.0, 5.0), (6.0, 3.0)):
        push = wind.force(time, np.zeros(3))
        np.testing.assert_allclose(push, 0.5 * 1.2 * 0.5 * speed**2 * np.array([0, 0.8, 0.6]))
    np.testing.assert_allclose(wind.force(0.0, wind.velocity), 0.0, atol=1e-12)


def test_pushes_follow_each_other_about_the_axes() -> None:
    pushes = Pushes(force=7.0, duration=0.1, period=0.5, first=1.0)
    for time, axis in ((1.0, 0), (1.09, 0), (1.5, 1), (2.05, 2), (2.5, 0)):
        assert pushes.wrench(time).tolist() == [7.0 * (k == axis) for k in range(6)]
    for time in (0.0, 0.6, 0.999, 1.1, 1.4):
        assert not pushes.wrench(time).any()
    assert not Pushes(first=0.0).wrench(0.05).any()
    assert pytest.approx(7.0) == pushes.wrench(1.0 - 1e-7)[0]
