# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Wires that do not fit are refused when a pattern is made, with the place in one sentence."""

from collections.abc import Callable

import numpy as np
import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_ephs import (
    Environment,
    Irreversible,
    Pattern,
    PatternError,
    Quadratic,
    Reversible,
    Storage,
    StructureError,
    System,
    assemble,
    compose,
    flatten,
    power,
    state,
    substitute,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.quantities import (
    SO3_TIMES_R3_SPACE,
    displacement,
    entropy,
    momentum,
)

from .examples import Damper, damped_oscillator, oscillator

SPRING = Quadratic({"q": power(displacement)}, 2.0)
MASS = Quadratic({"p": power(momentum)}, 1.0)
COUPLING = Reversible({"q": power(displacement), "p": power(momentum)}, skew=[[0, -1], [1, 0]])
BOXES = {"pe": SPRING, "ke": MASS, "pkc": COUPLING}


def wrong_quantity() -> object:
    return compose(BOXES, {"q": ("pe.q", "pkc.p"), "p": ("ke.p", "pkc.q")})


def wrong_name_of_a_quantity_of_the_same_space() -> object:
    return compose({"ke": MASS, "env": Environment()}, {"p": ("ke.p", "env.s")})


def missing_port() -> object:
    return compose({"osc": oscillator(), "mf": Damper(0.7)}, {"p": ("osc.p", "mf.p")})


def unknown_port() -> object:
    return compose(BOXES, {"q": ("pe.q", "pkc.x"), "p": ("ke.p", "pkc.p")})


def unknown_box() -> object:
    return compose(BOXES, {"q": ("pe.q", "pkk.q"), "p": ("ke.p", "pkc.p")})


def port_at_two_junctions() -> object:
    return compose(BOXES, {"q": ("pe.q", "pkc.q"), "p": ("ke.p", "pkc.p"), "x": ("pe.q",)})


def two_storages() -> object:
    return assemble(compose({"a": MASS, "b": MASS}, {"p": ("a.p", "b.p")}))


def outer_port_of_another_quantity() -> object:
    return compose({"ke": MASS}, {"p": ("ke.p", "p")}, {"p": power(displacement)})


def outer_port_at_no_junction() -> object:
    return compose({"ke": MASS}, {"p": ("ke.p",)}, ["x"])


def box_that_is_empty() -> object:
    return System(oscillator().pattern, {"pe": SPRING, "ke": MASS})


def filling_with_another_interface() -> object:
    return System(oscillator().pattern, {"pe": SPRING, "ke": SPRING, "pkc": COUPLING})


def state_that_nothing_holds() -> object:
    reader = Reversible(
        {"q": state(displacement), "p": power(momentum)}, skew=lambda q: np.zeros((1, 1)), reads="q"
    )
    return assemble(compose({"r": reader, "ke": MASS}, {"q": ("r.q",), "p": ("r.p", "ke.p")}))


def flow_sign() -> object:
    wrong = Reversible({"q": power(displacement), "p": power(momentum)}, skew=[[0, 1], [1, 0]])
    return assemble(
        compose({**BOXES, "pkc": wrong}, {"q": ("pe.q", "pkc.q"), "p": ("ke.p", "pkc.p")})
    )


def dirac_structure_that_is_not_skew_somewhere() -> object:
    def almost(q: np.ndarray) -> np.ndarray:
        return np.array([[0.0, -1.0], [1.0 + 0.1 * q[0] ** 2, 0.0]])

    wrong = Reversible({"q": power(displacement), "p": power(momentum)}, skew=almost, reads=["q"])
    return assemble(
        compose({**BOXES, "pkc": wrong}, {"q": ("pe.q", "pkc.q"), "p": ("ke.p", "pkc.p")})
    )


def negative_friction() -> object:
    def onsager(states: object, e: np.ndarray, theta_0: float) -> np.ndarray:
        v, theta = e[0], theta_0 + e[1]
        return -0.1 * np.array([[theta, -v], [-v, v * v / theta]])

    rubbing = Irreversible({"p": power(momentum), "s": power(entropy)}, onsager)
    return assemble(
        compose(
            {"ke": MASS, "mf": rubbing, "env": Environment()},
            {"p": ("ke.p", "mf.p"), "s": ("mf.s", "env.s")},
        )
    )


def indefinite_friction_tensor() -> object:
    tensor = np.array([[1.0, 2.0], [2.0, 1.0]])
    joint = mb.joint(mb.Cylindrical(), friction=lambda q, u, theta: tensor)
    body = mb.rigid_body(1.0, [1.0, 1.0, 1.0])
    return assemble(mb.mechanism({"b": body}, {"j": mb.Between("ground", "b", joint)}))


def friction_tensor_that_is_not_symmetric() -> object:
    tensor = np.array([[1.0, 0.3], [0.1, 1.0]])
    joint = mb.joint(mb.Cylindrical(), friction=lambda q, u, theta: tensor)
    body = mb.rigid_body(1.0, [1.0, 1.0, 1.0])
    return assemble(mb.mechanism({"b": body}, {"j": mb.Between("ground", "b", joint)}))


def friction_that_loses_heat() -> object:
    leaking = Irreversible(
        {"p": power(momentum), "s": power(entropy)},
        lambda states, e, theta_0: np.diag([theta_0 + e[1], 0.0]),
    )
    return assemble(
        compose(
            {"ke": MASS, "mf": leaking, "env": Environment()},
            {"p": ("ke.p", "mf.p"), "s": ("mf.s", "env.s")},
        )
    )


def reversible_machine_that_makes_entropy() -> object:
    engine = Reversible({"s": power(entropy), "p": power(momentum)}, skew=[[0, -1], [1, 0]])
    return assemble(
        compose(
            {"ke": MASS, "engine": engine, "env": Environment()},
            {"p": ("ke.p", "engine.p"), "s": ("engine.s", "env.s")},
        )
    )


def friction_without_a_place_for_heat() -> object:
    cold = Irreversible({"p": power(momentum)}, lambda states, e, theta_0: np.eye(1))
    return assemble(compose({"ke": MASS, "mf": cold}, {"p": ("ke.p", "mf.p")}))


def effort_that_is_not_the_differential() -> object:
    wrong = Storage({"q": power(displacement)}, lambda q: q**2, lambda q: q)
    return assemble(
        compose({**BOXES, "pe": wrong}, {"q": ("pe.q", "pkc.q"), "p": ("ke.p", "pkc.p")})
    )


def two_environments() -> object:
    boxes = {"a": Environment(300.0), "b": Environment(290.0)}
    return assemble(compose(boxes, {"a": ("a.s",), "b": ("b.s",)}))


def body_of_the_other_group() -> object:
    body = mb.rigid_body(1.0, [1.0, 1.0, 1.0], space=SO3_TIMES_R3_SPACE)
    return mb.mechanism({"b": body}, {"j": mb.Between("ground", "b", mb.joint(mb.Revolute()))})


def joint_to_no_body() -> object:
    body = mb.rigid_body(1.0, [1.0, 1.0, 1.0])
    return mb.mechanism({"b": body}, {"j": mb.Between("floor", "b", mb.joint(mb.Revolute()))})


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (wrong_quantity, PatternError, ["junction 'q'", "'pe.q'", "(R, displacement)", "'pkc.p'"]),
        (wrong_name_of_a_quantity_of_the_same_space, PatternError, ["momentum", "entropy"]),
        (missing_port, PatternError, ["'mf.s'", "(R, entropy)", "connected to nothing"]),
        (unknown_port, PatternError, ["box 'pkc'", "no port 'x'", "q, p"]),
        (unknown_box, PatternError, ["no box 'pkk'", "pe, ke, pkc"]),
        (port_at_two_junctions, PatternError, ["'pe.q'", "'q'", "'x'"]),
        (two_storages, PatternError, ["junction 'p'", "'a.p'", "'b.p'"]),
        (outer_port_of_another_quantity, PatternError, ["junction 'p'", "(R, displacement)"]),
        (outer_port_at_no_junction, PatternError, ["outer port 'x'"]),
        (box_that_is_empty, PatternError, ["box 'pkc' is empty"]),
        (filling_with_another_interface, PatternError, ["box 'ke'", "'p'"]),
        (state_that_nothing_holds, PatternError, ["'r.q'", "junction 'q'", "no storage"]),
        (flow_sign, StructureError, ["box 'pkc'", "'q'", "'p'", "flow sign"]),
        (dirac_structure_that_is_not_skew_somewhere, StructureError, ["box 'pkc'", "not skew"]),
        (negative_friction, StructureError, ["box 'mf'", "negative eigenvalue"]),
        (indefinite_friction_tensor, StructureError, ["box 'j.mf'", "'p_r'", "negative"]),
        (friction_tensor_that_is_not_symmetric, StructureError, ["box 'j.mf'", "not symmetric"]),
        (friction_that_loses_heat, StructureError, ["box 'mf'", "conserve energy"]),
        (reversible_machine_that_makes_entropy, StructureError, ["box 'engine'", "'s'"]),
        (friction_without_a_place_for_heat, StructureError, ["box 'mf'", "no port of entropy"]),
        (effort_that_is_not_the_differential, StructureError, ["box 'pe'", "port 'q'"]),
        (two_environments, StructureError, ["'a'", "'b'", "300", "290"]),
        (body_of_the_other_group, PatternError, ["so(3) x r^3*", "se(3)*"]),
        (joint_to_no_body, PatternError, ["joint 'j'", "'floor'"]),
    ],
)
def test_a_mistake_is_named_in_one_sentence(
    make: Callable[[], object], kind: type[VmsPhError], words: list[str]
) -> None:
    with pytest.raises(kind) as caught:
        make()
    message = str(caught.value)
    assert [word for word in words if word not in message] == []
    assert "\n" not in message


def test_a_state_port_passes_no_power_through_a_box() -> None:
    inner = Pattern({"ke": {"p": power(momentum)}}, {"p": ("ke.p", "x")}, {"x": state(momentum)})
    outer = Pattern(
        {"a": {"x": state(momentum)}, "b": {"p": power(momentum)}}, {"p": ("a.x", "b.p")}
    )
    with pytest.raises(PatternError, match=r"state port 'a\.x' passes no power"):
        substitute(outer, {"a": inner})


def test_an_outer_port_meets_the_quantity_of_its_junction() -> None:
    assert oscillator().interface == {"p": power(momentum)}


def test_an_unknown_junction_is_named_beside_those_there_are() -> None:
    with pytest.raises(PatternError, match="there is no junction 'r'; the junctions are q, p"):
        oscillator().pattern.quantity("r")


def test_the_flattened_pattern_of_the_source_has_its_boxes_and_junctions() -> None:
    flat = flatten(damped_oscillator())  # [C fig. 7]
    assert set(flat.pattern.boxes) == {"osc.pe", "osc.ke", "osc.pkc", "mf", "env"}
    assert {frozenset(ends) for ends in flat.pattern.junctions.values()} == {
        frozenset({"osc.pe.q", "osc.pkc.q"}),
        frozenset({"osc.ke.p", "osc.pkc.p", "mf.p"}),
        frozenset({"mf.s", "env.s"}),
    }
