# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Systems in systems, to any depth, keep their names, their helpers and their motion."""

import numpy as np
import pytest
from dynamics.conftest import state_of

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_ephs import Equations, System, assemble, compose, flatten, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import oscillator
from vms_ph_io import robots

from .relations import relation


def boxed(inner: System, name: str = "arm", outer: str = "{}") -> System:
    """The system as the only box of another, whose outer ports may have other names."""
    ports = {outer.format(port): (f"{name}.{port}", outer.format(port)) for port in inner.interface}
    return compose({name: inner}, ports, list(ports))


def robot_system(name: str) -> tuple[VMSModel, System]:
    robot = robots.get(name)
    model = VMSModel.from_urdf(robot.description(), robot.base, gravity=robot.gravity)
    return model, mb.from_urdf(robot.description(), robot.base, robot.gravity)


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda", "satellite_panda"])
def test_a_robot_in_a_box_is_placed_and_read_like_one_without(
    name: str, rng: np.random.Generator
) -> None:
    model, system = robot_system(name)
    q, v = state_of(model, rng)
    plain = assemble(system, check=False)
    # The ports of the base and the joints have other names outside.
    nested = assemble(boxed(boxed(system), "cell", "port_{}"), check=False)
    x = mb.state_of(nested, model, q, v)
    again = mb.configuration_of(nested, model, x, box="cell.arm")
    np.testing.assert_allclose(model.difference(q, again[0]), 0.0, atol=1e-12)
    np.testing.assert_allclose(again[1], v, atol=1e-11)
    ends = []
    for equations, start in ((plain, mb.state_of(plain, model, q, v)), (nested, x)):
        motion = simulate(equations, start, steps=5, stride=5)
        ends.append(mb.configuration_of(equations, model, motion.final)[1])
    np.testing.assert_array_equal(*ends)


def two_arms() -> tuple[VMSModel, Equations]:
    model, system = robot_system("panda")
    outer = {
        f"{s}_{p}": (f"{s}.{p}", f"{s}_{p}") for s in ("left", "right") for p in system.interface
    }
    return model, assemble(
        compose({"left": system, "right": system}, outer, list(outer)), check=False
    )


def test_one_of_two_robots_is_named_by_its_box(rng: np.random.Generator) -> None:
    model, equations = two_arms()
    q, v = state_of(model, rng)
    x = mb.state_of(equations, model, q, v, box="right")
    np.testing.assert_allclose(mb.configuration_of(equations, model, x, box="right")[0], q)
    np.testing.assert_allclose(mb.configuration_of(equations, model, x, box="left")[0], 0.0)
    with pytest.raises(ModelError, match=r"in the boxes 'left', 'right'; name one with box="):
        mb.state_of(equations, model, q, v)
    with pytest.raises(ModelError, match=r"does not hold .* in the box 'middle'"):
        mb.configuration_of(equations, model, x, box="middle")


def test_a_robot_that_the_system_lacks_is_refused(rng: np.random.Generator) -> None:
    equations = assemble(boxed(robot_system("satellite_panda")[1]), check=False)
    model = robots.load("hextilt")
    with pytest.raises(ModelError, match=r"does not hold the joints .* assemble it from the URDF"):
        mb.state_of(equations, model, *state_of(model, rng))


def test_a_system_may_be_nested_a_thousand_times() -> None:
    system = oscillator()
    for _ in range(1200):
        system = boxed(system, "b")
    flat = flatten(system)
    assert all(name.count(".") == 1200 for name in flat.fillings)
    rates = []
    for equations in (assemble(system), assemble(oscillator())):
        x = equations.states.vector({"p": 1.0})
        # The deepest junction has the longest name, which changes the order of the states.
        rates.append(sorted(equations.rates(x).tangent))
    np.testing.assert_array_equal(*rates)
    assert "outer ports: p" in repr(system)


def test_the_relation_of_a_deeply_nested_system_is_that_of_its_component() -> None:
    coupling = oscillator().fillings["pkc"]
    system = compose({"c": coupling}, {p: (f"c.{p}", p) for p in "qp"}, ["q", "p"])
    deep = system
    for _ in range(1200):
        deep = boxed(deep, "b")
    np.testing.assert_allclose(relation(deep).projector, relation(system).projector, atol=1e-12)
