# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A base that is mounted with a turned origin falls the same way in both languages."""

from types import ModuleType

import numpy as np
import pinocchio as pin
import pytest
from dynamics.integrators.mounts import ASKEW, mounted
from dynamics.integrators.test_mounted_base import CASES, placed

from vms_ph_dynamics import DecoupledForm, ModelError, Ports, VMSModel, integrate
from vms_ph_dynamics.integrators import COMPILED

from .test_integrators import STRENGTH, assert_same, both

pytestmark = pytest.mark.usefixtures("native")


@pytest.mark.parametrize("scheme", COMPILED)
@pytest.mark.parametrize(("base", "mount"), CASES)
def test_it_moves_as_in_python_and_as_its_twin_without_a_mount(
    base: str, mount: pin.SE3, scheme: str
) -> None:
    robot = mounted(base, mount)
    form, twin = DecoupledForm(robot.model), DecoupledForm(robot.twin)
    x, x_twin = form.state(robot.q, robot.v), twin.state(robot.q_twin, robot.v)
    pushed = Ports(STRENGTH, np.linspace(2.0, -1.0, form.model.b), np.array([5, 0, 3, 0, 0.2, 0]))
    for ports in (Ports(), pushed):
        how = {"dt": 1e-3, "steps": 100, "scheme": scheme, "stride": 20}
        one, other = both(form, x, ports, **how)
        assert_same(one, other)
        assert np.abs(one.audit.residual).max() < 1e-12 * np.abs(one.energy).max()
        expected = integrate(twin, x_twin, ports, native=True, **how).states[-1]  # type: ignore[arg-type]
        apart = robot.twin.difference(expected.q, placed(robot, one.states[-1].q))
        np.testing.assert_allclose(apart, 0.0, atol=1e-11)
        np.testing.assert_allclose(one.states[-1].z, expected.z, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scheme", COMPILED)
@pytest.mark.parametrize("base", ["planar", "floating"])
def test_it_keeps_its_energy_for_a_second(base: str, scheme: str) -> None:
    robot = mounted(base, ASKEW)
    form = DecoupledForm(robot.model)
    x = form.state(robot.q, robot.v)
    run = integrate(form, x, dt=1e-3, steps=1000, scheme=scheme, stride=100, native=True)
    assert not run.failures
    assert np.abs(run.energy - run.energy[0]).max() < 1e-12 * max(np.abs(run.energy).max(), 100.0)


def test_armature_on_a_base_is_refused_in_both_languages(native: ModuleType) -> None:
    source = mounted("floating", ASKEW).model.pinocchio
    armature = np.zeros(source.nv)
    armature[2] = 0.1
    source.armature = armature
    with pytest.raises(ModelError, match=r"armature .* on joints only"):
        VMSModel.from_pinocchio(source)
    with pytest.raises(ValueError, match=r"has an armature; it is accepted on joints only"):
        native.Model(source, "panda_link8")
