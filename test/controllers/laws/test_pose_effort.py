# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of laws in closed form: the inertia of a task, bounds of springs, cones of thrust."""

import numpy as np
import pytest

from vms_ph_controllers.laws.pose_effort import AxisGains, ToolImpedance, _task_inertia
from vms_ph_controllers.laws.sampled_impedance import SampledImpedance
from vms_ph_controllers.laws.underactuated_flight import ThrustDirection
from vms_ph_controllers.potentials.pose_potential import PosePotential
from vms_ph_controllers.references.pose_reference import PoseReference
from vms_ph_dynamics.groups import SE3


def test_directions_that_are_being_lost_fade_from_the_inertia_of_a_task() -> None:
    mobility = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    inverse = 1.0 / (np.diag(mobility) + 1e-6)
    np.testing.assert_allclose(_task_inertia(mobility, 0.11), np.diag(inverse), rtol=1e-12)
    # Half way: 0.05 (1 - 1/4) of the mean mobility of the position.
    lost = 0.05 * 0.75 * 2.0
    faded = 1.0 / (np.diag(mobility) + 1e-6 + lost)
    expected = faded + lost * faded**2
    np.testing.assert_allclose(_task_inertia(mobility, 0.05), np.diag(expected), rtol=1e-12)


def test_the_moment_of_a_spring_is_bounded_by_its_stiffest_axis() -> None:
    stiffness = np.array([100.0, 100.0, 100.0, 40.0, 10.0, 20.0])
    error = SE3().exp(np.array([0.0, 0.0, 0.0, 0.3, 0.1, -0.2]))
    potential, reference = PosePotential(), PoseReference()
    potential.follow(error)

    def spring(inverse_moment: float) -> tuple[float, np.ndarray]:
        axis_gains = AxisGains(stiffness, np.zeros(6), 1.0, np.array([0.0, inverse_moment]))
        tool = ToolImpedance(potential, reference, error, False, None, axis_gains)
        return tool.springs(axis_gains)[:2]

    energy, free = spring(0.0)
    bound = np.sqrt(2.0 * 40.0 * energy)  # about which it bends
    assert spring(1.0 / (1.001 * bound))[0] == energy
    bent, gradient = spring(1.0 / (0.5 * bound))
    assert bent == pytest.approx(0.75 * energy)
    np.testing.assert_allclose(gradient, 0.5 * free)


def test_a_force_outside_a_cone_is_brought_onto_it() -> None:
    attitudes, up = ThrustDirection(np.array([0.0, 0.0, 1.0])), np.array([0.0, 0.0, 1.0])
    steep = attitudes.in_cone(np.array([3.0, 4.0, 10.0]), up, 10.0, 0.3)
    assert np.linalg.norm(steep[:2]) / steep[2] == pytest.approx(np.tan(0.3))
    np.testing.assert_allclose(steep[:2] / np.linalg.norm(steep[:2]), [0.6, 0.8])
    flat = attitudes.in_cone(np.array([3.0, 4.0, 10.0]), up, 10.0, 1.0)
    np.testing.assert_allclose(flat, [3.0, 4.0, 10.0])
    upright = attitudes.in_cone(np.array([3.0, 4.0, 10.0]), up, 10.0, 0.0)
    np.testing.assert_allclose(upright, [0.0, 0.0, 10.0], atol=1e-12)


@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.96, 0.28, 0.0]])
def test_a_nose_is_across_the_thrust_whatever_its_axis(axis: list[float]) -> None:
    attitudes = ThrustDirection(np.array(axis))
    rotation = attitudes.attitude(np.array([1.0, 2.0, 9.0]), np.eye(3))
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-12)
    along = np.array([1.0, 2.0, 9.0]) / np.sqrt(86.0)
    np.testing.assert_allclose(rotation @ axis, along, atol=1e-12)
    # The nose of the heading itself, as far as the thrust allows: no turn where there need be none.
    np.testing.assert_allclose(attitudes.attitude(np.array(axis), np.eye(3)), np.eye(3), atol=1e-12)


def test_a_held_spring_is_no_stiffer_than_half_a_sample_allows() -> None:
    mass, h, none = np.diag([2.0, 3.0]), 0.1, np.zeros((2, 2))
    gradient, rest = np.array([10.0, -6.0]), np.zeros(2)
    most = 0.5 / h**2  # of the square of a frequency
    soft = SampledImpedance.from_terms(mass, none, 0.99 * most * mass, gradient, rest, h)
    np.testing.assert_array_equal(soft.spring, gradient)
    assert soft.reason == ""
    stiff = np.diag([4.0 * most * 2.0, 0.5 * most * 3.0])
    held = SampledImpedance.from_terms(mass, none, stiff, gradient, rest, h)
    np.testing.assert_allclose(held.spring, [2.5, -6.0])
    assert held.reason


def test_the_drift_of_a_reference_moves_what_damping_sees() -> None:
    mass, damping, h = np.diag([2.0, 3.0]), np.diag([5.0, 8.0]), 0.05
    velocity, feedforward = np.array([0.3, -0.2]), np.array([1.5, 0.7])
    none = np.zeros((2, 2))
    held = SampledImpedance.from_terms(mass, damping, none, np.zeros(2), velocity, h, feedforward)
    # Implicit Euler: M (u - v) = h (feedforward - D u).
    expected = (np.diag(mass) * velocity + h * feedforward) / (np.diag(mass) + h * np.diag(damping))
    np.testing.assert_allclose(held.velocity, expected)
