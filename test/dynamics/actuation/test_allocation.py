# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rotors and thrusters: the wrench they make, and the power that goes through them."""

import numpy as np
import pytest

from vms_ph_dynamics import Allocation, ModelError, Ports, Rotor, StandardForm, StateError, VMSModel
from vms_ph_io import robots

from ..conftest import state_of
from ..forms.test_forms import FORMS

X, Y, Z = np.eye(3)
ARM = 0.25


def quadrotor() -> Allocation:
    """Four upright rotors in a cross, turning alternately."""
    places = (ARM * X, ARM * Y, -ARM * X, -ARM * Y)
    return Allocation(
        [Rotor(place, Z, 0.016 * sign) for place, sign in zip(places, (1, -1, 1, -1), strict=True)]
    )


def cart(angles: tuple[float, ...] = (0.0, 2 * np.pi / 3, 4 * np.pi / 3)) -> Allocation:
    """Driven omniwheels on a circle, each pushing along it."""
    wheels = []
    for a in angles:
        outward, along = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0])
        wheels.append(Rotor(ARM * outward - 0.1 * Z, along))
    return Allocation(wheels, "planar")


def hextilt() -> Allocation:
    allocation = robots.get("hextilt").allocation()
    assert allocation is not None
    return allocation


@pytest.mark.parametrize("make", [quadrotor, hextilt])
def test_the_wrench_is_the_sum_of_the_thrusts_and_their_moments(
    make, rng: np.random.Generator
) -> None:
    allocation = make()
    thrusts = rng.uniform(0, 5, allocation.matrix.shape[1])
    np.testing.assert_allclose(allocation.wrench(thrusts), allocation.matrix @ thrusts)
    # Thrust and moment of a single rotor, from its column: the moment along the thrust is the
    # reaction torque, the rest is at right angles to it.
    for column in allocation.matrix.T:
        axis, moment = column[:3], column[3:]
        assert np.linalg.norm(axis) == pytest.approx(1.0)
        assert abs(moment @ axis) == pytest.approx(0.016)


def test_a_quadrotor_turns_about_the_axes_its_rotors_say() -> None:
    allocation = quadrotor()
    # More thrust on the left, at +y, rolls to the right: positive about x.
    np.testing.assert_allclose(allocation.wrench([0, 1, 0, 0])[3:], [ARM, 0, -0.016], atol=1e-15)
    # More thrust in front pitches the nose up: negative about y.
    np.testing.assert_allclose(allocation.wrench([1, 0, 0, 0])[3:], [0, -ARM, 0.016], atol=1e-15)
    # All alike only lift.
    np.testing.assert_allclose(allocation.wrench(np.ones(4)), [0, 0, 4, 0, 0, 0], atol=1e-15)


def test_the_reaction_torque_is_that_of_a_rotor_that_turns_against_its_axis() -> None:
    # The rotor as a link of its own, driven at steady speed against its axis: its motor pushes
    # with -Q, the air holds it back with +Q and lifts it with T.
    link = (
        '<link name="{}"><inertial><mass value="{}"/><inertia ixx="0.01" iyy="0.01" izz="0.01" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    body = VMSModel.from_urdf(
        '<robot name="one">'
        + link.format("hull", 2)
        + link.format("rotor", 0.1)
        + '<joint name="shaft" type="continuous"><parent link="hull"/><child link="rotor"/>'
        '<origin xyz="0.25 0.1 0.05"/><axis xyz="0 0 1"/></joint></robot>',
        "floating",
        "rotor",
    )
    thrust, torque = 5.0, 0.08
    form = StandardForm(body)
    x = form.state(body.neutral_configuration(), np.zeros(7))
    air = np.array([0, 0, thrust, 0, 0, torque])
    spun = form.rate(x, Ports(torque=np.array([-torque]), wrench_end_effector=air))
    allocation = Allocation([Rotor(np.array([0.25, 0.1, 0.05]), Z, drag_ratio=torque / thrust)])
    allocated = form.rate(x, Ports(wrench_base=allocation.wrench([thrust])))
    np.testing.assert_allclose(allocated.zdot[:6], spun.zdot[:6], atol=1e-15)
    # Steady: nothing accelerates the shaft.
    assert spun.zdot[6] == pytest.approx(0.0, abs=1e-15)


def test_the_power_of_the_wrench_is_that_of_the_thrusts(rng: np.random.Generator) -> None:
    for allocation in (quadrotor(), hextilt(), cart()):
        b, m = allocation.matrix.shape
        u, v = rng.normal(size=m), rng.normal(size=b)
        assert allocation.wrench(u) @ v == pytest.approx(u @ allocation.outputs(v), rel=1e-12)


def test_the_power_through_the_rotors_is_the_power_at_the_base_port(
    rng: np.random.Generator,
) -> None:
    model, allocation = robots.load("hextilt"), hextilt()
    q, v = state_of(model, rng)
    u = rng.uniform(allocation.lower, allocation.upper)
    for kind in FORMS:
        form = kind(model)
        ports = Ports(np.zeros(model.n), allocation.wrench(u))
        balance = form.power_balance(form.state(q, v), ports)
        through = float(u @ allocation.outputs(v[:6]))
        assert balance.supplied["wrench_base"] == pytest.approx(through, rel=1e-12)
        # Gravity is stored; so the rotors' is all the power there is.
        assert abs(balance.residual) < 1e-10 * abs(through)
        assert balance.stored == pytest.approx(through, rel=1e-9)


def test_the_output_of_a_rotor_is_the_speed_of_its_hub_along_its_axis() -> None:
    allocation = Allocation([Rotor(np.array([1.0, 0.0, 0.0]), Z)])
    # Turning about -y lifts what is ahead.
    assert allocation.outputs(np.array([0, 0, 0.5, 0, -2.0, 0]))[0] == pytest.approx(2.5)


def test_the_hextilt_can_make_every_wrench_and_a_quadrotor_cannot(
    rng: np.random.Generator,
) -> None:
    tilted, flat = hextilt(), quadrotor()
    assert tilted.is_fully_actuated
    assert not flat.is_fully_actuated
    wrench = rng.normal(size=6)
    np.testing.assert_allclose(tilted.wrench(tilted.thrusts(wrench)), wrench, atol=1e-12)
    # The quadrotor makes what it can, and no force across its rotors.
    made = flat.wrench(flat.thrusts(wrench))
    np.testing.assert_allclose(made, [0, 0, *wrench[2:]], atol=1e-12)


def test_the_hextilt_hovers_within_the_limits_of_its_rotors() -> None:
    model, allocation = robots.load("hextilt"), hextilt()
    # Speeds of 100 to 1100 rad/s at 8.54858e-6 N s^2/rad^2.
    np.testing.assert_allclose(allocation.lower, 8.54858e-6 * 100**2, rtol=1e-6)
    np.testing.assert_allclose(allocation.upper, 8.54858e-6 * 1100**2, rtol=1e-6)
    q = model.neutral_configuration()
    hold = model.evaluate(q, np.zeros(model.nv)).g
    thrusts = allocation.thrusts(hold[:6])
    assert (thrusts > allocation.lower).all()
    assert (thrusts < allocation.upper).all()
    form = StandardForm(model)
    rate = form.rate(form.state(q, np.zeros(model.nv)), Ports(hold[6:], allocation.wrench(thrusts)))
    np.testing.assert_allclose(rate.zdot, 0.0, atol=1e-12)


def test_the_reaction_torques_of_the_hextilt_alternate_around_it() -> None:
    matrix = hextilt().matrix
    reaction = np.sum(matrix[:3] * matrix[3:], axis=0)
    np.testing.assert_allclose(reaction, 0.016 * np.array([-1, 1, -1, 1, -1, 1]), atol=1e-9)


def test_three_omniwheels_move_a_cart_every_way_and_two_do_not(rng: np.random.Generator) -> None:
    allocation = cart()
    assert allocation.matrix.shape == (3, 3)
    assert allocation.is_fully_actuated
    # All pushing alike only turns it, counterclockwise.
    np.testing.assert_allclose(allocation.wrench(np.ones(3)), [0, 0, 3 * ARM], atol=1e-15)
    wrench = rng.normal(size=3)
    np.testing.assert_allclose(allocation.wrench(allocation.thrusts(wrench)), wrench, atol=1e-12)
    assert not cart((0.0, np.pi)).is_fully_actuated


def test_a_cart_moves_where_its_wheels_push(rng: np.random.Generator) -> None:
    model, allocation = robots.load("omnidirectional_panda"), cart()
    form = StandardForm(model)
    q, v = state_of(model, rng)
    u = rng.normal(size=3)
    balance = form.power_balance(form.state(q, v), Ports(wrench_base=allocation.wrench(u)))
    assert balance.supplied["wrench_base"] == pytest.approx(
        u @ allocation.outputs(v[:3]), rel=1e-12
    )
    still = form.state(q, np.zeros(model.nv))
    np.testing.assert_allclose(
        form.rate(still, Ports(wrench_base=allocation.wrench(u), gravity=False)).zdot[:3],
        allocation.wrench(u),
        atol=1e-12,
    )


def test_axes_of_any_length_mean_their_direction() -> None:
    one, two = (Allocation([Rotor(X, length * (X + Z), 0.1)]).matrix for length in (1.0, 50.0))
    np.testing.assert_allclose(one, two, atol=1e-16)


@pytest.mark.parametrize(
    ("actuators", "base", "said"),
    [
        ([], "floating", "at least one rotor"),
        ([Rotor(X, Z)], "fixed", "floating or planar base; given: 'fixed'"),
        ([Rotor(X, Z), Rotor(X, 0 * Z)], "floating", "axis of rotor 1 has length zero"),
        ([Rotor(X[:2], Z)], "floating", r"position of rotor 0 must have shape \(3,\)"),
        ([Rotor(X, Z * np.nan)], "floating", "axis of rotor 0 must be finite"),
        ([Rotor(X, Z, np.inf)], "floating", "drag_ratio of rotor 0 must be finite"),
        ([Rotor(X, Z, 0.0, 2.0, 1.0)], "floating", "lower <= upper; given: 2.0, 1.0"),
        ([Rotor(X, Z, 0.0, np.nan)], "floating", "lower <= upper; given: nan"),
    ],
)
def test_wrong_actuators_are_refused(actuators: list[Rotor], base: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        Allocation(actuators, base)


def test_wrong_thrusts_and_twists_are_refused() -> None:
    allocation = quadrotor()
    with pytest.raises(StateError, match=r"thrusts must have shape \(4,\); given: shape \(6,\)"):
        allocation.wrench(np.zeros(6))
    with pytest.raises(StateError, match=r"wrench_base must have shape \(6,\)"):
        allocation.thrusts(np.zeros(3))
    with pytest.raises(StateError, match=r"v_base must have shape \(6,\)"):
        allocation.outputs(np.zeros(3))


def test_a_matrix_of_other_sizes_or_with_crossed_limits_is_refused() -> None:
    with pytest.raises(ModelError, match=r"given: the shapes \(5, 2\), \(2,\) and \(3,\)"):
        Allocation.of_matrix(np.ones((5, 2)), np.zeros(2), np.ones(3))
    with pytest.raises(ModelError, match="least inputs must not exceed the largest"):
        Allocation.of_matrix(np.ones((6, 2)), np.ones(2), np.zeros(2))
