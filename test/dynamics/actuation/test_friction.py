# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Friction in the joints: its law, where it comes from, and that it only takes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.forms import Ports, StandardForm, linear_port_hamiltonian

from ..conftest import state_of
from ..forms.test_forms import FORMS

LINK = (
    '<link name="{}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1"'
    ' izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="0 0 1"/>'
    '<limit lower="-1" upper="1" effort="5" velocity="9"/>{4}</joint>'
)
ROBOT = (
    '<robot name="r">'
    + "".join(LINK.format(name) for name in "abcd")
    + JOINT.format("turn", "revolute", "a", "b", '<dynamics damping="0.5" friction="0.2"/>')
    + JOINT.format("slide", "prismatic", "b", "c", '<dynamics damping="3"/>')
    + JOINT.format("free", "continuous", "c", "d", "")
    + "</robot>"
)

coefficients = st.lists(st.floats(0, 100), min_size=3, max_size=3)
rates = st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3)


def test_the_urdf_gives_damping_and_friction_of_every_joint() -> None:
    for base in ("fixed", "planar", "floating"):
        model = VMSModel.from_urdf(ROBOT, base)
        friction = Friction.from_model(model)
        assert friction.viscous.tolist() == [0.5, 3.0, 0.0]
        assert friction.coulomb.tolist() == [0.2, 0.0, 0.0]


def test_friction_acts_against_the_motion_by_its_law() -> None:
    friction = Friction(np.array([0.5, 3.0, 0.0]), np.array([0.2, 0.0, 1.0]), slip=0.1)
    force = friction.force(np.array([2.0, -1.0, 0.1]))
    # At 20 slip speeds Coulomb friction is full, at one it is tanh(1) of it.
    np.testing.assert_allclose(force, [-0.5 * 2 - 0.2, 3.0, -np.tanh(1.0)], rtol=1e-15)


def test_coulomb_friction_does_not_depend_on_speed_beyond_the_slip_speed() -> None:
    friction = Friction(np.zeros(1), np.array([0.7]), slip=0.01)
    for speed in (0.2, 1.0, 1e6):
        assert friction.force(np.array([speed]))[0] == -0.7
        assert friction.force(np.array([-speed]))[0] == 0.7
    assert friction.force(np.zeros(1))[0] == 0.0


@given(coefficients, coefficients, st.floats(1e-6, 10), rates)
def test_friction_never_gives_power(
    viscous: list[float], coulomb: list[float], slip: float, v: list[float]
) -> None:
    friction = Friction(np.array(viscous), np.array(coulomb), slip)
    each = friction.force(np.array(v)) * np.array(v)
    assert (each <= 0).all()


@given(coefficients, coefficients, st.floats(1e-3, 10), rates)
def test_the_slope_is_the_derivative_of_the_force_and_never_negative(
    viscous: list[float], coulomb: list[float], slip: float, v: list[float]
) -> None:
    friction = Friction(np.array(viscous), np.array(coulomb), slip)
    x, step = np.array(v), 1e-4 * slip
    slope = friction.slope(x)
    assert (slope >= 0).all()
    difference = (friction.force(x - step) - friction.force(x + step)) / (2 * step)
    # Third derivative of tanh is at most 2: step^2/3 of the largest slope; rounding over the step.
    size = np.abs(friction.force(x)).max()
    tolerance = 1e-8 * max(coulomb) / slip + 1e-15 * (size + max(viscous) * slip) / step
    np.testing.assert_allclose(difference, slope, rtol=1e-9, atol=tolerance + 1e-12)


def test_the_power_that_friction_takes_is_accounted_in_every_form(
    rng: np.random.Generator,
) -> None:
    for base in ("fixed", "planar", "floating"):
        model = VMSModel.from_urdf(ROBOT, base)
        friction = Friction.from_model(model)
        for kind in FORMS:
            form = kind(model)
            q, v = state_of(model, rng)
            x = form.state(q, v)
            balance = form.power_balance(x, Ports(friction=friction))
            joints = v[model.b :]
            expected = 0.5 * joints[0] ** 2 + 3.0 * joints[1] ** 2
            expected += 0.2 * joints[0] * np.tanh(joints[0] / 0.01)
            assert balance.dissipated == pytest.approx(expected, rel=1e-12)
            assert sum(balance.supplied.values()) == 0.0
            assert balance.stored == pytest.approx(-expected, rel=1e-9)


def test_friction_between_links_leaves_the_momentum_of_the_whole_alone(
    rng: np.random.Generator,
) -> None:
    model = VMSModel.from_urdf(ROBOT, "floating")
    form = StandardForm(model)
    x = form.state(*state_of(model, rng))
    with_it, without = (
        form.rate(x, Ports(friction=friction)) for friction in (Friction.from_model(model), None)
    )
    np.testing.assert_array_equal(with_it.zdot[:6], without.zdot[:6])
    assert np.abs(with_it.zdot[6:] - without.zdot[6:]).max() > 0.01


def test_fast_joints_do_not_overflow_the_linearisation() -> None:
    model = VMSModel.from_urdf(ROBOT)
    form = StandardForm(model)
    # A thousand slip speeds: the square of 1/cosh there is 0, but cosh is no double.
    x = form.state(model.neutral_configuration(), np.array([10.0, 10.0, 10.0]))
    ports = Ports(friction=Friction.from_model(model))
    assert np.isfinite(linear_port_hamiltonian(form, x, ports).A).all()


@pytest.mark.parametrize(
    ("viscous", "coulomb", "slip", "said"),
    [
        ([-0.1, 0], [0, 0], 0.1, r"viscous friction must .* not negative; given: \[-0\.1  0"),
        ([0, 0], [0, -1], 0.1, "coulomb friction must be one number per joint"),
        ([0, np.nan], [0, 0], 0.1, "viscous friction must"),
        ([0, 0], [0], 0.1, "given for 2 joints, Coulomb friction for 1"),
        ([0, 0], [0, 0], 0.0, "slip speed of friction must be positive; given: 0"),
        (0.5, [0, 0], 0.1, "one number per joint"),
    ],
)
def test_friction_that_would_drive_a_joint_is_refused(
    viscous: list[float], coulomb: list[float], slip: float, said: str
) -> None:
    with pytest.raises(ModelError, match=said):
        Friction(np.array(viscous), np.array(coulomb), slip)


def test_friction_of_another_robot_is_refused() -> None:
    model = VMSModel.from_urdf(ROBOT)
    form = StandardForm(model)
    x = form.state(model.neutral_configuration(), np.zeros(3))
    with pytest.raises(StateError, match="friction must be that of 3 joints; given: 2"):
        form.rate(x, Ports(friction=Friction(np.ones(2), np.ones(2))))
