# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rotors are part of the equations of motion as they are given, or the robot is refused."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, Ports, StandardForm, VMSModel, integrate
from vms_ph_dynamics.integrators import SCHEMES
from vms_ph_io import robots


def panda(base: str) -> pin.Model:
    model = VMSModel.from_urdf(robots.get("panda").description(), base, "panda_link8")
    return model.pinocchio


def with_armature(model: pin.Model, rows: slice, value: float) -> pin.Model:
    armature = np.zeros(model.nv)
    armature[rows] = value
    model.armature = armature
    return model


@pytest.mark.parametrize(("base", "b"), [("planar", 3), ("floating", 6)])
def test_armature_on_a_base_is_refused(base: str, b: int) -> None:
    for entry in range(b):
        source = with_armature(panda(base), slice(entry, entry + 1), 0.5)
        with pytest.raises(ModelError, match=r"base 'root_joint' has the armature .* joints only"):
            VMSModel.from_pinocchio(source)


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf])
def test_armature_that_no_rotor_has_is_refused(value: float) -> None:
    with pytest.raises(ModelError, match="'panda_joint3' must be finite and not negative"):
        VMSModel.from_pinocchio(with_armature(panda("fixed"), slice(2, 3), value))


@pytest.mark.parametrize(("inertia", "ratio"), [(1e-4, 100.0), (0.1, 1.0), (-1e-4, 1.0)])
def test_rotors_that_pinocchio_leaves_out_are_refused(inertia: float, ratio: float) -> None:
    source = panda("floating")
    rotors, gears = np.zeros(source.nv), np.ones(source.nv)
    rotors[8], gears[8] = inertia, ratio
    source.rotorInertia, source.rotorGearRatio = rotors, gears
    with pytest.raises(
        ModelError, match=r"'panda_joint3' has the rotorInertia .*; set armature to"
    ):
        VMSModel.from_pinocchio(source)


def test_rotors_that_the_armature_contains_are_accepted() -> None:
    source = panda("floating")
    rotors, gears = np.zeros(source.nv), np.ones(source.nv)
    rotors[6:], gears[6:] = 1e-5, 100.0
    source.rotorInertia, source.rotorGearRatio = rotors, gears
    model = VMSModel.from_pinocchio(with_armature(source, slice(6, None), 0.1), "panda_link8")
    bare = VMSModel.from_pinocchio(panda("floating"), "panda_link8")
    q = model.random_configuration(np.random.default_rng(0))
    v = np.linspace(-1.0, 1.0, model.nv)
    more = model.evaluate(q, v).M - bare.evaluate(q, v).M
    np.testing.assert_allclose(more, np.diag([0.0] * 6 + [0.1] * 7), atol=1e-13)


def test_a_gear_without_a_rotor_adds_nothing() -> None:
    source = panda("fixed")
    source.rotorGearRatio = np.full(source.nv, 100.0)
    VMSModel.from_pinocchio(source)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_rotors_on_the_joints_take_part_in_the_motion_of_every_scheme(
    base: str, scheme: str
) -> None:
    b = {"fixed": 0, "planar": 3, "floating": 6}[base]
    source = with_armature(panda(base), slice(b, None), 0.1)
    model = VMSModel.from_pinocchio(source, "panda_link8")
    form = StandardForm(model)
    q = model.random_configuration(np.random.default_rng(1))
    v = np.linspace(-0.5, 0.5, model.nv)
    ports, force = Ports(torque=np.ones(7)), np.concatenate([np.zeros(b), np.ones(7)])
    run = integrate(form, form.state(q, v), ports, dt=1e-4, steps=10, scheme=scheme, stride=10)
    data = source.createData()
    expected = v + 1e-3 * pin.aba(source, data, q, v, force)
    # The acceleration changes by some hundred rad/s^3 within this millisecond.
    np.testing.assert_allclose(form.velocity(run.states[-1]), expected, atol=1e-3)
    bare = panda(base)
    without = v + 1e-3 * pin.aba(bare, bare.createData(), q, v, force)
    assert np.abs(expected - without).max() > 5e-3
