# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integral action: a constant unknown force leaves no error, and its power is in the balance."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_controllers import DecoupledVMSController, Reference, RobotState, UnderactuatedFlight
from vms_ph_controllers.references.integral_action import IntegralAction
from vms_ph_dynamics import Array
from vms_ph_io import robots

Law = DecoupledVMSController | UnderactuatedFlight


def law_of(name: str, integral: float) -> tuple[Law, Array]:
    robot = robots.get(name)
    model = robots.load(name)
    law: Law
    if name == "borinot":
        law = UnderactuatedFlight(model, allocation=robot.own_actuators().allocation)
    else:
        law = DecoupledVMSController(model)
    law.gains = replace(law.gains, integral=integral)
    home = model.configuration(robot.home, robot.home_base or None)
    law.reset(RobotState(home, np.zeros(model.nv)))
    return law, home


class Pushed:
    """A robot on which a constant force acts that its law does not know."""

    def __init__(self, law: Law, home: Array, force: Array) -> None:
        self.law, self.force, model = law, force, law.model
        self.home = home
        self.q, self.v = self.home, np.zeros(model.nv)
        self._data = model.pinocchio.createData()

    def step(self, dt: float) -> None:
        model = self.law.model
        told = self.law.update(RobotState(self.q, self.v), Reference(), dt)
        effort = np.concatenate([told.wrench_base, told.torque]) + self.force
        rate = pin.aba(model.pinocchio, self._data, self.q, self.v, effort)
        self.v = self.v + dt * rate
        self.q = model.integrate(self.q, dt * self.v)

    def away(self) -> Array:
        return self.law.model.difference(self.home, self.q)


def force_on(law: Law, home: Array, weight: float) -> Array:
    """A weight on the base (N), or a push along a floor; torques that turn base and joints."""
    model = law.model
    force = np.zeros(model.nv)
    force[2 if model.b == 6 else 0] = -weight
    if isinstance(law, DecoupledVMSController):  # a flying one does not correct its heading
        force[model.b - 1] = 0.1 * weight
    inertia = np.diag(model.evaluate(home, 0.0 * force).M_hat_m)
    force[model.b :] = 0.1 * law.gains.frequency_shape**2 * inertia
    return force


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize(
    ("name", "weight"),
    [("omnidirectional_panda", 20.0), ("borinot", 3.0), ("satellite_panda", 60.0)],
)
def test_a_constant_force_leaves_no_error(name: str, weight: float) -> None:
    errors = []
    for integral in (0.0, 0.5):
        law, home = law_of(name, integral)
        robot = Pushed(law, home, force_on(law, home, weight))
        for _ in range(900):
            robot.step(0.02)
        errors.append(np.abs(robot.away()))
    assert errors[0].max() > 0.02
    assert errors[1].max() < 3e-3


@pytest.mark.parametrize(
    ("name", "free"),
    [("borinot", "frequency_position"), ("borinot", "frequency_attitude"), ("satellite_panda", "")],
)
def test_a_robot_at_rest_stores_what_displaces_its_minimum(name: str, free: str) -> None:
    law, home = law_of(name, 0.5)
    law.gains = replace(law.gains, **({free: 0.0} if free else {}))
    rest = np.zeros(law.model.nv)
    law.reset(RobotState(home, rest))
    offset = np.concatenate(
        [[0.03, -0.02, 0.04, 0.0, 0.0, 0.0], np.linspace(0.1, -0.2, law.model.n)]
    )
    state = RobotState(law.model.integrate(home, offset), rest)
    told = [law.update(state, Reference(), 1e-3).energy for _ in range(5)]
    stored = np.diff([energy.closed_loop_energy for energy in told])
    power = np.array([energy.reference_power for energy in told])
    np.testing.assert_allclose(stored, 0.5e-3 * (power[1:] + power[:-1]), rtol=1e-5)
    assert power.min() > 0.01


def test_it_reaches_no_further_than_half_the_weight_and_half_a_radian() -> None:
    integral, far = IntegralAction(2), np.array([0.0, 3.0, 4.0])
    turned = pin.exp3(np.array([0.0, 0.0, 2.0]))
    for _ in range(1000):
        integral.advance(1.0, 2.0, 4.0, far, turned, np.array([9.0, -9.0]), 0.01, 0.03)
    np.testing.assert_allclose(integral.position, [0.0, -0.6 * 9.80665 / 8, -0.8 * 9.80665 / 8])
    np.testing.assert_array_equal(integral.joint_offset, [-0.5, 0.5])
    np.testing.assert_allclose(integral.rotation, pin.exp3(np.array([0.0, 0.0, -0.5])))
    np.testing.assert_allclose(integral.position_rate, 0.0, atol=1e-12)
    before = integral.rotation
    other = pin.exp3(np.array([1.5, 0.5, -1.0]))
    integral.advance(1.0, 2.0, 4.0, far, other, np.zeros(2), 0.01, 0.03)
    # The rate of the turn is in the axes of the turned base.
    np.testing.assert_allclose(
        before @ pin.exp3(0.01 * integral.angular_velocity), integral.rotation
    )
    integral.advance(1.0, 0.0, 4.0, np.ones(3), None, np.zeros(2), 0.01, 0.03)
    assert not integral.position.any()
    integral.advance(1.0, 2.0, 4.0, np.ones(3), turned, np.ones(2), 0.0, 0.03)
    assert not integral.position_rate.any()
    integral.advance(0.0, 2.0, 4.0, np.ones(3), turned, np.ones(2), 0.01, 0.03)
    assert not integral.joint_offset.any()


def test_it_rests_while_the_efforts_are_limited() -> None:
    law, home = law_of("omnidirectional_panda", 0.5)
    robot = Pushed(law, home, np.zeros(law.model.nv))
    robot.q = law.model.integrate(robot.home, np.r_[np.zeros(3), np.full(law.model.n, 50.0)])
    first = law.update(RobotState(robot.q, robot.v), Reference(), 1e-3)
    assert first.reason
    again = law.update(RobotState(robot.q, robot.v), Reference(), 1e-3)
    assert again.energy.reference_power == 0.0
