# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A URDF with what was identified has the energies that were identified."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.regressor import EnergyRegressor
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification import Identification, Settings, identify
from vms_ph_io import robots
from vms_ph_io.descriptions.urdf.identified_urdf import identified_urdf

DESCRIPTION = robots.get("panda").description()


@pytest.fixture(scope="module")
def found() -> Identification:
    """Of a motion with efforts of no meaning; the tests write their own estimates into it."""
    model, t = robots.load("panda"), np.arange(0.0, 6.0, 0.01)
    phase = np.arange(7.0)
    q = np.sin(2.0 * t[:, None] + phase)
    v = 2.0 * np.cos(2.0 * t[:, None] + phase)
    samples = MotionSamples(t, q, v, 5.0 * np.sin(3.0 * t[:, None] + phase))
    return identify(model, samples, ("payload", "friction"), settings=Settings(energy=False))


def _with_payload(found: Identification, parameters: list[float]) -> Identification:
    names = [u.name for u in found.unknowns]
    best = found.consistent.copy()
    best[[names.index(n) for n in names if n.startswith("payload.")]] = parameters
    told = [
        replace(p, value=parameters[0], low=0.0, high=0.0, meaning="")
        if p.name == "payload_mass"
        else p
        for p in found.parameters
    ]
    return replace(found, consistent=best, parameters=tuple(told))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_energies_are_those_of_the_robot_with_the_load(found: Identification, sign: float) -> None:
    model = robots.load("panda")
    load = sign * np.array([0.5, 0.0, 0.0, 0.02, 0.003, 0.0, 0.003, 0.0, 0.0, 0.001])
    text = identified_urdf(DESCRIPTION, model, _with_payload(found, load.tolist()))
    changed = VMSModel.from_urdf(text, end_effector="panda_link8")
    assert changed.total_mass == pytest.approx(model.total_mass + sign * 0.5)
    rng = np.random.default_rng(0)
    body, transform = EnergyRegressor(model).of_frame("panda_link8")
    q = np.array([model.random_configuration(rng) for _ in range(4)])
    v = rng.normal(size=(4, 7))
    rows = EnergyRegressor(model).rows(q, v)
    parameters = EnergyRegressor(model).parameters.copy()
    parameters[10 * body : 10 * body + 10] += transform @ load
    regressor = EnergyRegressor(changed)
    ours = regressor.rows(q, v) @ regressor.parameters
    np.testing.assert_allclose(ours, rows @ parameters, rtol=1e-7, atol=1e-7)


def test_friction_becomes_the_dynamics_of_the_joints(found: Identification) -> None:
    told = [
        replace(p, value=1.25, low=1.0, high=1.5, meaning="")
        if p.name in ("friction.panda_joint2.viscous", "friction.panda_joint2.coulomb")
        else replace(p, value=1.25, meaning="unsure, because it is a guess")
        for p in found.parameters
    ]
    text = identified_urdf(
        DESCRIPTION, robots.load("panda"), replace(found, parameters=tuple(told))
    )
    changed, before = VMSModel.from_urdf(text), robots.load("panda")
    assert changed.joints.damping[1] == 1.25
    assert changed.joints.friction[1] == 1.25
    np.testing.assert_array_equal(
        np.delete(changed.joints.damping, 1), np.delete(before.joints.damping, 1)
    )
