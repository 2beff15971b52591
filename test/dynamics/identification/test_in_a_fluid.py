# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Load, friction and drag of a robot under water, on a base that moves."""

import numpy as np
import pytest

from vms_ph_dynamics import OptionError, VMSModel
from vms_ph_dynamics.energy.energy_path import drag_efforts, drag_names
from vms_ph_dynamics.identification import Settings, identify
from vms_ph_dynamics.identification.live import LiveIdentification
from vms_ph_dynamics.identification.windows import Sample
from vms_ph_io import robots

from .known_truth import random_truth, recording


@pytest.fixture(scope="module")
def submarine() -> VMSModel:
    return robots.load("bluerov2_alpha5")


def test_the_drag_of_the_links_adds_up_to_that_of_the_fluid(submarine: VMSModel) -> None:
    rng = np.random.default_rng(2)
    assert submarine.fluid is not None
    for _ in range(4):
        v = rng.normal(size=submarine.nv)
        d = submarine.evaluate(submarine.random_configuration(rng), v)
        efforts = drag_efforts(d)
        assert tuple(efforts) == drag_names(submarine)
        np.testing.assert_allclose(sum(efforts.values()), -submarine.fluid.drag(d), atol=1e-9)
        assert all(effort @ v >= 0.0 for effort in efforts.values())


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
