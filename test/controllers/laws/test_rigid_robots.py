# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot without joints, such as a drone without an arm, is modelled and controlled as others."""

import numpy as np
import pytest

from vms_ph_controllers import DecoupledVMSController
from vms_ph_dynamics import DecoupledForm, Ports, StandardForm, VMSModel

from ..support.decoupled_plants import STEP, Plant

DRONE = (
    '<robot name="drone"><link name="hull"><inertial><origin xyz="0.01 0 0"/><mass value="1.5"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
)


@pytest.mark.parametrize("base", ["planar", "floating"])
def test_terms_and_forms_of_a_rigid_robot_have_no_joints(
    base: str, rng: np.random.Generator
) -> None:
    model = VMSModel.from_urdf(DRONE, base)
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    assert model.evaluate(q, v).dM.shape == (0, model.nv, model.nv)
    for form in (StandardForm(model), DecoupledForm(model)):
        balance = form.power_balance(form.state(q, v), Ports(wrench_base=np.ones(model.b)))
        assert abs(balance.residual) < 1e-12


@pytest.mark.usefixtures("core")
@pytest.mark.parametrize("base", ["planar", "floating"])
def test_a_rigid_robot_comes_back_to_where_it_is_held(base: str, rng: np.random.Generator) -> None:
    model = VMSModel.from_urdf(DRONE, base)
    law = DecoupledVMSController(model)
    start = model.random_configuration(rng)
    one = Plant(law, start, 0.3 * rng.uniform(-1, 1, model.nv))
    one.goal = model.neutral_configuration()
    law.set_minimum(one.goal)
    for _ in range(round(8.0 / STEP)):
        one.step()
    assert np.abs(model.difference(one.goal, one.q)).max() < 0.05
    assert np.abs(model.difference(one.goal, start)).max() > 0.5
