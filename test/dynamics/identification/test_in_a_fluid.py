# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Load, friction and drag of a robot under water, on a base that moves."""

import numpy as np
import pytest

from vms_ph_dynamics import OptionError, VMSModel
from vms_ph_dynamics.energy.energy_path import fluid_terms
from vms_ph_dynamics.energy.regressor import EnergyRegressor
from vms_ph_dynamics.identification import Settings, identify
from vms_ph_dynamics.identification.live import LiveIdentification
from vms_ph_dynamics.identification.windows import Sample
from vms_ph_io import robots

from .known_truth import random_truth, recording


@pytest.fixture(scope="module")
def submarine() -> VMSModel:
    return robots.load("bluerov2_alpha5")


def test_the_energy_and_the_drag_of_the_fluid_are_those_of_the_model(submarine: VMSModel) -> None:
    rng = np.random.default_rng(2)
    q = np.array([submarine.random_configuration(rng) for _ in range(4)])
    v = rng.normal(size=(4, submarine.nv))
    states = [submarine.evaluate(*row) for row in zip(q, v, strict=True)]
    found = fluid_terms(submarine, q, v)
    regressor = EnergyRegressor(submarine)
    total = regressor.rows(q, v) @ regressor.parameters + found.energy
    armature = np.asarray(submarine.pinocchio.armature)
    total += 0.5 * v**2 @ armature
    whole = np.array([d.kinetic_energy + d.potential_energy for d in states])
    np.testing.assert_allclose(np.diff(total), np.diff(whole), atol=1e-9)
    assert submarine.fluid is not None
    drag = [-(d.v @ submarine.fluid.drag(d)) for d in states]
    np.testing.assert_allclose(found.dissipated_power, drag, rtol=1e-9)


def test_load_friction_and_drag_are_found_under_water(submarine: VMSModel) -> None:
    truth = random_truth(submarine, np.random.default_rng(9000), 0.3)
    samples = recording(submarine, truth, np.random.default_rng(1), duration=4.5)
    found = identify(submarine, samples, ("payload", "friction", "drag"))
    mass = found["payload_mass"]
    assert mass.contains(truth.values["payload_mass"])
    assert mass.value == pytest.approx(truth.values["payload_mass"], rel=0.05)
    assert found["drag.base_link.quadratic"].contains(1.0)
    assert found["drag.base_link.quadratic"].value == pytest.approx(1.0, abs=0.1)
    claimed = [p for p in found.claims if p.name in truth.values]
    assert np.mean([p.contains(truth.values[p.name]) for p in claimed]) >= 0.8
    assert found.unaccounted < 0.01 * found.gross < found.unaccounted_before
    # The torque regressor knows the fluid too.
    other = found.energy["payload_mass"]
    assert other.value == pytest.approx(truth.values["payload_mass"], rel=0.05)
    live = LiveIdentification(submarine)
    for k in range(len(samples)):
        wrenches = {"base": samples.wrenches["base"][k]}
        live.add(Sample(samples.t[k], samples.q[k], samples.v[k], samples.torque[k], wrenches))
    told = live.update()
    assert told is not None
    assert told["payload_mass"].contains(truth.values["payload_mass"])


def test_drag_that_a_robot_does_not_have_cannot_be_identified(panda: VMSModel) -> None:
    truth = random_truth(panda, np.random.default_rng(5), 1.5)
    samples = recording(panda, truth, np.random.default_rng(6), duration=1.0)
    with pytest.raises(OptionError, match="'panda' has no drag"):
        identify(panda, samples, ("drag",), settings=Settings(energy=False))
