# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators and fluids as the plugins of ros2_control read them."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import Rotor, VMSModel
from vms_ph_dynamics.actuation.actuators import Caster, ReactionWheel, Tilt
from vms_ph_dynamics.actuation.allocation import Actuators
from vms_ph_io import robots, share_directory
from vms_ph_io.settings.actuators_file import load_actuators
from vms_ph_io.settings.fluid_file import load_fluid
from vms_ph_io.settings.plugin_tags import allocation_tag, fluid_tag

CONFIG = share_directory() / "config"
X = np.array([1.0, 0.0, 0.0])


def numbers(element: ET.Element, name: str) -> list[float]:
    return [float(word) for word in element.get(name, "").split()]


@pytest.mark.parametrize(
    "file", sorted((CONFIG / "actuators").glob("*.yaml")), ids=lambda p: p.stem
)
def test_actuators_are_written_with_every_digit(file: Path) -> None:
    actuators = load_actuators(file)
    element = allocation_tag(actuators)
    assert element.get("base") == actuators.base
    assert numbers(element, "weights") == actuators.weights.tolist()
    columns = [numbers(item, "column") for item in element]
    np.testing.assert_array_equal(np.transpose(columns), actuators.allocation.matrix)
    for name, values in (
        ("lower", actuators.lower),
        ("upper", actuators.upper),
        ("dead_zone", actuators.dead_zone),
        ("loss_ratio", actuators.loss_ratio),
    ):
        assert [(numbers(item, name) or [0.0])[0] for item in element] == values.tolist()


@pytest.mark.parametrize("name", ["omnidirectional_panda", "satellite_panda"])
def test_what_motors_and_wheels_lose_is_written(name: str) -> None:
    actuators = load_actuators(CONFIG / f"actuators/{name}.yaml")
    element = allocation_tag(actuators)
    for key in ("friction", "largest_rate", "torque_constant", "resistance"):
        written = [numbers(item, key) for item in element]
        assert written == [[value] for value in getattr(actuators, key)]


def test_a_reaction_wheel_has_its_momentum_and_the_spin_of_the_start() -> None:
    wheels = [ReactionWheel(np.array([0.0, 3.0, 4.0]), 0.2, 5.0, 100.0, -7.0), Rotor(X, X)]
    wheel, thruster = allocation_tag(Actuators(wheels))
    assert wheel.get("kind") == "reaction_wheel"
    assert numbers(wheel, "inertia") == [0.2]
    assert numbers(wheel, "rate") == [-7.0]
    np.testing.assert_allclose(numbers(wheel, "spin_axis"), [0.0, 0.6, 0.8], rtol=1e-15)
    assert not {"kind", "inertia", "rate", "spin_axis"} & set(thruster.keys())


def test_columns_that_turn_are_the_map_at_every_angle() -> None:
    tilt = Tilt(np.array([0.0, 0.0, 2.0]), -0.4, 0.9, 3.0)
    tilting = Rotor(np.array([0.1, 0.2, 0.3]), X, 0.02, 0.1, 9.0, 1e-5, inertia=1e-4, tilt=tilt)
    casters = [Caster(np.array([0.1 * k, 0.2]), 0.05, 0.02, angle=0.3 * k) for k in range(2)]
    for actuators in (Actuators([tilting, Rotor(X, X)]), Actuators(casters, "planar")):
        m, b = len(actuators.names), len(actuators.weights)
        element = allocation_tag(actuators)
        tilts = 0.7 - np.arange(m) / 5
        turned = dict(zip(actuators.names, tilts, strict=True))
        angles = np.zeros(m)
        angles[actuators.steered_wheels] = tilts[actuators.steered_wheels + 1]
        for item, column in zip(element, actuators.matrix(tilts, angles).T, strict=True):
            name = item.get("name") if item.get("tilt_rate") else item.get("steering")
            if name is None:
                assert numbers(item, "column") == column.tolist()
                continue
            fixed, c, s = (
                np.array(numbers(item, f"column_{part}") or np.zeros(b))
                for part in ("fixed", "cos", "sin")
            )
            at = fixed + np.cos(turned[name]) * c + np.sin(turned[name]) * s
            np.testing.assert_allclose(at, column, rtol=1e-14, atol=1e-14)
    item = allocation_tag(Actuators([tilting]))[0]
    assert [numbers(item, f"tilt_{k}") for k in ("lower", "upper", "rate")] == [
        [-0.4],
        [0.9],
        [3.0],
    ]
    assert numbers(item, "spin_axis") == [-1.0, 0.0, 0.0]
    assert numbers(item, "spin_axis_sin") == [0.0, -1.0, 0.0]


def test_a_fluid_is_written_with_every_digit() -> None:
    fluid = load_fluid(CONFIG / "fluids/bluerov2_alpha5.yaml")
    element = fluid_tag(fluid)
    assert numbers(element, "density") == [fluid.density]
    for item, body in zip(element, fluid.bodies, strict=True):
        assert item.get("link") == body.link
        assert numbers(item, "volume") == [body.volume]
        assert numbers(item, "added_mass") == body.added_mass.ravel().tolist()
        for name in ("centre_of_buoyancy", "linear_drag", "quadratic_drag"):
            assert numbers(item, name) == getattr(body, name).tolist()


def test_a_hosted_law_knows_the_fluid_and_the_actuators() -> None:
    from vms_ph_controllers.hosting.hosted_controller import make_hosted

    known = robots.get("bluerov2_alpha5")
    model, thrusters = known.load(), known.own_actuators().allocation
    assert isinstance(model, VMSModel)
    assert model.fluid is not None
    immersed = [
        (
            body.link,
            body.added_mass.tolist(),
            body.volume,
            body.centre_of_buoyancy.tolist(),
            body.linear_drag.tolist(),
            body.quadratic_drag.tolist(),
        )
        for body in model.fluid.bodies
    ]
    robot = (known.description(), known.base, known.end_effector, (), known.gravity)
    parts = (thrusters.matrix.tolist(), thrusters.lower.tolist(), thrusters.upper.tolist())
    hosted = make_hosted(
        "vms_ph_controllers.DecoupledVMSController", (*robot, immersed, 1000.0), True, parts
    )
    q = model.neutral_configuration()
    np.testing.assert_array_equal(
        hosted.model.evaluate(q, np.zeros(model.nv)).M, model.evaluate(q, np.zeros(model.nv)).M
    )
    hosted.inputs[: model.nq] = q
    hosted.reset()
    hosted.update()
    wrench = hosted.outputs[hosted.layout["outputs"]["wrench_base"]]
    np.testing.assert_allclose(wrench, model.evaluate(q, np.zeros(model.nv)).g[:6], atol=1e-9)
