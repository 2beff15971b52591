# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot with one joint on a fixed base: every array keeps its two dimensions."""

import numpy as np
import pytest

from vms_ph_controllers import CartesianImpedance, Reference, RobotState
from vms_ph_dynamics import Ports, StandardForm, VMSModel, integrate, linear_port_hamiltonian
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification import identify
from vms_ph_dynamics.tasks import CentreOfMassTask, PoseTask, PositionTask

_SOLID = """<inertial><origin xyz="0.1 0 -0.1"/><mass value="1.2"/>
<inertia ixx="0.02" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>"""
_DOOR = f"""<robot name="door"><link name="frame">{_SOLID}</link><link name="leaf">{_SOLID}</link>
<joint name="hinge" type="revolute"><parent link="frame"/><child link="leaf"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="3"/></joint></robot>"""


@pytest.fixture
def door() -> VMSModel:
    return VMSModel.from_urdf(_DOOR)


def test_jacobians_have_one_column(door: VMSModel) -> None:
    d = door.evaluate([0.3], [0.7])
    assert d.J_end_effector.shape == (6, 1)
    for kind in (PositionTask, PoseTask, CentreOfMassTask):
        task = kind(door)
        assert task.jacobian(d).shape == task.jacobian_rate(d).shape == (len(task.jacobian(d)), 1)
    gradient = PositionTask(door).jacobian_gradient(d)
    rate = PositionTask(door).jacobian_rate(d)
    np.testing.assert_allclose(gradient @ d.v, rate, atol=1e-14)


def test_a_wrench_at_its_end_effector_keeps_the_energy_balance(door: VMSModel) -> None:
    form, ports = StandardForm(door), Ports(np.ones(1), None, np.arange(6.0))
    start = form.state(np.array([0.3]), np.array([0.7]))
    assert abs(form.power_balance(start, ports).residual) < 1e-14
    run = integrate(form, start, lambda t, x: ports, dt=1e-3, steps=20)
    assert np.abs(run.audit.residual).max() < 1e-14
    assert linear_port_hamiltonian(form, start, ports).A.shape == (2, 2)


def test_its_load_and_friction_are_identified(door: VMSModel) -> None:
    t = np.arange(0.0, 8.0, 0.004)[:, None]
    q, v, a = 0.8 * np.sin(2.0 * t), 1.6 * np.cos(2.0 * t), -3.2 * np.sin(2.0 * t)
    q, v, a = q + 0.1 * np.sin(9.0 * t), v + 0.9 * np.cos(9.0 * t), a - 8.1 * np.sin(9.0 * t)
    terms = door.evaluate_batch(q, v)
    torque = terms.M[:, 0] * a + terms.g + 0.3 * v + 0.2 * np.tanh(v / 0.01)
    found = identify(door, MotionSamples(t[:, 0], q, v, torque))  # of payload and friction
    assert found["friction.hinge.viscous"].value == pytest.approx(0.3, abs=0.01)
    assert found["friction.hinge.coulomb"].value == pytest.approx(0.2, abs=0.01)


def test_an_impedance_controls_it(door: VMSModel) -> None:
    law, state = CartesianImpedance(door), RobotState(np.array([0.3]), np.array([0.7]))
    law.reset(state)
    command = law.update(state, Reference(), 1e-3)
    assert command.reason == ""
    assert command.energy.damping_task > 0.0
