# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The dissipation of the forms: what it takes is what friction and drag dissipate."""

import numpy as np
import pytest

from vms_ph_dynamics import DecoupledForm, Form, Friction, Ports, StandardForm
from vms_ph_io import load_urdf, robots


@pytest.mark.parametrize("form", [StandardForm, DecoupledForm])
@pytest.mark.parametrize("name", ["panda", "hextilt", "bluerov2_alpha5"])
def test_the_dissipated_power_is_that_of_friction_and_drag(name: str, form: type[Form]) -> None:
    model, rng = robots.load(name), np.random.default_rng(1)
    friction = Friction(rng.uniform(0.1, 1.0, model.n), rng.uniform(0.1, 1.0, model.n))
    at = form(model)
    x = at.state(model.random_configuration(rng), rng.normal(size=model.nv))
    gradient, r = at.gradient(x), at.dissipation(x, friction)
    expected = Ports(friction=friction).dissipated(at.evaluation(x))
    assert gradient @ r @ gradient == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(r, r.T)
    assert np.linalg.eigvalsh(r).min() > -1e-12 * np.abs(r).max()


def test_a_bundled_robot_starts_at_home_and_any_other_at_zero_or_inside_its_limits() -> None:
    fr3 = load_urdf(robots.get("fr3").path())
    middle = 0.5 * (fr3.joints.lower + fr3.joints.upper)
    expected = np.where(np.isin(fr3.joint_names, ["fr3_joint4", "fr3_joint6"]), middle, 0.0)
    np.testing.assert_array_equal(fr3.home, expected)
    panda = robots.load("panda")
    assert panda.home == pytest.approx(panda.configuration(robots.get("panda").home))
    assert panda.with_home(panda.neutral_configuration()).home == pytest.approx(np.zeros(7))
    np.testing.assert_array_equal(
        panda.jacobian("panda_link4", panda.home),
        panda.evaluate(panda.home, np.zeros(7)).jacobian("panda_link4"),
    )
    assert panda.placement("panda_link0", panda.home) == pytest.approx(np.eye(4))
