# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Systems as data: what is written is read again, exactly, and what is wrong is named."""

import copy

import numpy as np
import pytest

from vms_ph_dynamics import ImmersedBody, VmsPhError
from vms_ph_ephs import (
    DryFriction,
    Environment,
    Irreversible,
    StructureError,
    assemble,
    compose,
    flatten,
    power,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import EXAMPLES, oscillator
from vms_ph_ephs.files.pattern_files import load_system, pattern_text, save_pattern
from vms_ph_ephs.library import Radiator, battery, gear, inverter, motor, propeller
from vms_ph_ephs.notation import KINDS, build, describe, initial_state
from vms_ph_ephs.notation.names import _parse_space
from vms_ph_ephs.quantities import R, entropy, momentum
from vms_ph_io import robots
from vms_ph_io.settings.bounded_text import parse_yaml

from .test_library import drive

DRIVE = """
title: a motor that winds a spring
start: {load: 0.01}
boxes:
  motor: {kind: motor, torque_constant: 170 rpm/V, resistance: 400 mohm, inertia: 20 g cm^2,
          capacity: 20.0, conductance: 0.1}
  gear: {kind: gear, ratio: 20, viscous: 0.01}
  load: {kind: quadratic, ports: {p: momentum}, matrix: 50.0}
  wall:
    boxes:
      spring: {kind: spring, stiffness: 5, grounded: true}
    junctions: {p: [spring.p, p]}
    outer: [p]
  env: {kind: environment, theta_0: 25 degC}
junctions:
  phi: [motor.phi, phi]
  shaft: [motor.p, gear.p_in]
  load: [gear.p_out, load.p, wall.p]
  s: [gear.s, env.s]
outer: [phi]
"""


def systems() -> dict:
    wet = ImmersedBody("b", 0.1 * np.eye(6), 0.01, np.array([0, 0, 0.1]), np.ones(6), np.ones(6))
    two = {
        "a": propeller(8e-6, 1.2e-7, 4e-5),
        "b": Radiator(area=0.1),
        "c": battery(9.0, [1, 2], 1),
    }
    ports = {
        f"{box}_{p}": (f"{box}.{p}", f"{box}_{p}") for box, s in two.items() for p in s.interface
    }
    return {
        **{name: make() for name, make in EXAMPLES.items()},
        "drive": drive(),
        "flat": flatten(drive()),
        "parts": compose(two, ports, list(ports)),
        "fluid": mb.immersed_body(
            2.0, 0.1 * np.eye(3), mb.body.GRAVITY, [(np.eye(4), wet)], 1e3, 290.0
        ),
        "stick": mb.mechanism(
            {"b": mb.rigid_body(1.0, [0.1, 0.1, 0.1])},
            {
                "j": mb.Between(
                    mb.GROUND,
                    "b",
                    mb.joint(mb.Screw(0.01), friction=DryFriction(0.2, mb.Screw(0.01))),
                )
            },
        ),
        "sphere": mb.joint(mb.Spherical(), friction=0.1),
        "commanded": compose(
            {"i": inverter(), "g": gear(3.0, 10.0, 0.9)},
            {
                **{p: (f"i.{p}", p) for p in ("q", "phi", "u")},
                **{p: (f"g.{p}", p) for p in ("p_in", "p_out", "s")},
            },
            ["q", "phi", "u", "p_in", "p_out", "s"],
        ),
    }


def test_a_system_that_is_written_and_read_is_the_same_to_the_last_digit() -> None:
    for name, system in systems().items():
        data = describe(system)
        again = parse_yaml(pattern_text(data))
        assert again == data, name
        assert describe(build(again)) == data, name
        flat, other = flatten(system), flatten(build(again))
        assert flat.pattern == other.pattern, name


def test_a_robot_that_was_written_and_read_has_the_same_rates(rng: np.random.Generator) -> None:
    system = mb.from_urdf(
        robots.get("panda").description(), heat=mb.Heat(20.0, 0.5), springs={"panda_joint2": 3.0}
    )
    pair = [assemble(s, check=False) for s in (system, build(describe(system)))]
    joints = {name: rng.normal() for name in system.interface}
    x = mb.consistent_state(pair[0], joints, joints)
    np.testing.assert_array_equal(*(equations.rates(x).tangent for equations in pair))


def test_a_file_by_hand_has_units_parts_and_systems_in_systems(tmp_path) -> None:
    file = tmp_path / "drive.yaml"
    file.write_text(DRIVE)
    system = load_system(file)
    assert list(system.interface) == ["phi"]
    equations = assemble(system)
    assert equations.theta_0 == 298.15
    emf = equations.layout.components["motor.emf"].skew()  # type: ignore[attr-defined]
    assert emf[0, 1] == pytest.approx(60.0 / (2.0 * np.pi * 170.0), rel=1e-12)
    data = parse_yaml(DRIVE)
    x = initial_state(data, equations)
    assert equations.states.value(x, "load")[0] == 0.01
    # The rotor turns with the load, twenty times as fast.
    rotor = 20.0 * 50.0 * 0.01 * 20.0 * 1e-7
    assert equations.states.value(x, "shaft")[0] == pytest.approx(rotor, rel=1e-9)
    # Data keep units and parts as they are written.
    assert parse_yaml(pattern_text(data)) == data
    save_pattern(describe(system), file)
    assert describe(load_system(file)) == describe(system)


def test_a_robot_is_a_box_of_a_file(tmp_path) -> None:
    file = tmp_path / "cell.yaml"
    file.write_text(
        "boxes:\n  arm: {kind: robot, urdf: panda, tools: [panda_link8], capacity: 20}\n"
        "junctions: {tip: [arm.panda_link8, tip], "
        + ", ".join(f"j{k}: [arm.panda_joint{k}]" for k in range(1, 8))
        + "}\nouter: [tip]\n"
    )
    equations = assemble(load_system(file), check=False)
    assert "arm.panda_joint1.th" in equations.layout.components
    for wrong, message in (
        ("urdf: panda", "there is no robot 'nothing'; give a path relative to the pattern file"),
        ("capacity", "a robot has no parameter 'warmth'; its parameters are urdf"),
    ):
        new = wrong.replace("panda", "nothing").replace("capacity", "warmth")
        damaged = tmp_path / "wrong.yaml"
        damaged.write_text(file.read_text().replace(wrong, new, 1))
        with pytest.raises(VmsPhError, match=message):
            load_system(damaged)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: gear", "kind: teapot", r"in box 'gear': there is no kind 'teapot'; the kinds are"),
        ("ratio: 20", "rotio: 20", "a gear has no parameter 'rotio'; its parameters are ratio"),
        ("ratio: 20, ", "", "in box 'gear': a gear needs the parameter 'ratio'; give it"),
        ("400 mohm", "400 mV", "one of the units ohm, mohm; given: '400 mV'"),
        ("400 mohm", "-1", r"resistance of a motor must be .* above 0 \(ohm\); given: -1"),
        ("{p: momentum}", "{p: hope}", "a quantity must be one of displacement, momentum"),
        ("matrix: 50.0", "matrix: [1, x]", "must be numbers in a list"),
        ("gear.s, env.s", "gear.s", "in the system: port 'env.s', .* is connected to nothing"),
        ("spring.p, p", "spring.q, p", "in system 'wall': box 'spring' has no port 'q'"),
        ("outer: [phi]", "outer: phi", "must be a list of ports such as"),
        ("boxes:\n  motor", "bexes:\n  motor", "the entry 'bexes'; accepted are boxes"),
        ("grounded: true", "grounded: 7", "must be true or false; given: 7"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_box(old: str, new: str, message: str) -> None:
    assert old in DRIVE
    with pytest.raises(VmsPhError, match=message):
        build(parse_yaml(DRIVE.replace(old, new, 1)))


def test_a_component_of_functions_cannot_be_written() -> None:
    ports = {"p": power(momentum), "s": power(entropy)}
    own = Irreversible(ports, rows=lambda states, e, theta_0: [[1.0 + e[0] ** 2]], conductance=1.0)
    system = compose(
        {"osc": oscillator(), "mf": own, "env": Environment()},
        {"p": ("osc.p", "mf.p"), "s": ("mf.s", "env.s")},
    )
    with pytest.raises(StructureError, match="box 'mf' is given by functions, which a file cannot"):
        describe(system)


_ODD = (
    None, True, -1, 7, -2.5, float("nan"), float("inf"), "", "x", "momentum", "revolute", "1 m",
    "screw 1", [], {}, [[1.0], [2.0, 3.0]], "state entropy", "p",
)  # fmt: skip


def _places(node: object) -> list:
    inner = node.items() if isinstance(node, dict) else enumerate(node)  # type: ignore[arg-type]
    found = []
    for key, value in inner:
        found += [(node, key), *(_places(value) if isinstance(value, dict | list) else [])]
    return found


def test_a_damaged_file_is_refused_in_a_sentence(rng: np.random.Generator) -> None:
    refused = 0
    for _ in range(90):
        damaged = copy.deepcopy(parse_yaml(DRIVE))
        damaged["boxes"]["joint"] = {"kind": "joint", "pair": "revolute", "viscous": 0.1}
        places = _places(damaged)
        node, key = places[rng.integers(len(places))]
        if isinstance(node, dict) and rng.random() < 0.3:
            node[list(KINDS)[rng.integers(len(KINDS))]] = node.pop(key)
        else:
            node[key] = _ODD[rng.integers(len(_ODD))]
        try:  # anything but a sentence fails the test
            build(damaged)
        except VmsPhError as error:
            refused += len(str(error)) > 20
    assert refused > 45


def test_the_space_of_a_scalar_position_has_a_name() -> None:
    stick = compose({"d": DryFriction(1.0, R, "p")}, {p: (f"d.{p}", p) for p in "ps"}, ["p", "s"])
    assert describe(stick)["boxes"]["d"] == {
        "kind": "dry_friction",
        "limit": [1.0],
        "pair": "R",
        "port": "p",
    }
    assert describe(build(describe(stick))) == describe(stick)
    assert motor(0.1, 1.0).interface["p"].quantity == momentum


@pytest.mark.parametrize("power", ["\N{SUPERSCRIPT TWO}", "9" * 5000, "1", "", "1000", "-2"])
def test_a_space_of_no_dimension_is_refused_in_a_sentence(power: str) -> None:
    with pytest.raises(VmsPhError, match="the space of a quantity must be one of"):
        _parse_space(f"R^{power}", "text")
