# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy as a linear function of the inertial parameters."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.energy.regressor import EnergyRegressor, pseudo_inertia
from vms_ph_io import robots


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "satellite_panda", "hextilt"])
def test_rows_times_parameters_are_the_energy(name: str, rng: np.random.Generator) -> None:
    model = robots.load(name)
    regressor = EnergyRegressor(model)
    q = np.array([model.random_configuration(rng) for _ in range(5)])
    v = rng.normal(size=(5, model.nv))
    for energy, qk, vk in zip(regressor.rows(q, v) @ regressor.parameters, q, v, strict=True):
        d = model.evaluate(qk, vk)
        armature = 0.5 * model.tree.pinocchio.armature @ model.tree.full_velocity(vk) ** 2
        expected = d.kinetic_energy + d.potential_energy - armature
        assert energy == pytest.approx(expected, rel=1e-12, abs=1e-10)


def test_a_body_at_a_frame_adds_to_the_one_that_carries_it(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    regressor = EnergyRegressor(panda)
    body, transform = regressor.of_frame("panda_link8")
    load = pin.Inertia.Random()
    frame = panda.tree.pinocchio.frames[panda.frame_id("panda_link8")]
    expected = frame.placement.act(load).toDynamicParameters()
    np.testing.assert_allclose(transform @ load.toDynamicParameters(), expected, atol=1e-12)
    assert regressor.bodies[body] == "panda_joint7"


def test_the_pseudo_inertia_of_a_body_is_that_of_pinocchio() -> None:
    body = pin.Inertia.Random()
    expected = body.toPseudoInertia().toMatrix()
    np.testing.assert_allclose(pseudo_inertia(body.toDynamicParameters()), expected, atol=1e-12)


def test_a_frame_that_stands_is_refused(panda: VMSModel) -> None:
    with pytest.raises(ModelError, match="does not move"):
        EnergyRegressor(panda).of_frame("panda_link0")
