# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What determines every effort, and the relation at the ports of systems of any parts."""

import numpy as np
import pytest

from vms_ph_ephs import (
    Environment,
    PatternError,
    Quadratic,
    Reversible,
    System,
    assemble,
    causality,
    compose,
    displacement,
    momentum,
    power,
    relation_at,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.equations.assembly import consistent_sample
from vms_ph_ephs.examples import TwoBodies, oscillator
from vms_ph_ephs.library import Damper, MeshFriction

from .test_closed_loops import assembled_four_bar
from .test_library import drive


def test_what_gives_every_effort_of_a_drive_is_named() -> None:
    found = causality(drive(0.0))
    assert found.index == 1
    assert found.determined["in"] == "storage motor.rotor.p"
    assert found.determined["bus"] == found.determined["phi"] == "balance of flows"
    assert found.determined["gear.p"] == "constraints of gear.mesh"
    assert found.over == found.under == ()
    assert causality(drive()).determined["phi"] == "storage motor.coil.l.phi"
    assert causality(oscillator()).index == 0
    assert causality(TwoBodies().free()).index == 3


def test_a_linkage_names_the_joints_whose_constraints_repeat_each_other() -> None:
    equations, x = assembled_four_bar()
    found = causality(equations.system, x)  # type: ignore[attr-defined]
    assert found.redundant == (frozenset({"a.hc", "b.hc", "c.hc", "d.hc"}),)
    assert "repeat each other 3 times here" in found.over[0]
    assert "a.hc.p_j1" in found.over[0]


def test_storages_that_share_a_junction_are_all_named() -> None:
    mass = Quadratic({"p": power(momentum)}, 1.0)
    ports = {"q": power(displacement), "p": power(momentum)}
    system = compose(
        {
            "a": mass,
            "b": mass,
            "c": Reversible(ports, skew=[[0, -1], [1, 0]]),
            "d": Quadratic({"q": power(displacement)}, 1.0),
            "e": Quadratic({"q": power(displacement)}, 2.0),
        },
        {"p": ("a.p", "b.p", "c.p"), "q": ("c.q", "d.q", "e.q")},
    )
    found = causality(system)
    assert found.index is None
    assert [text.split(" meet")[0] for text in found.over] == [
        "the storages at a.p, b.p",
        "the storages at d.q, e.q",
    ]
    assert "over-determined: the storages at a.p, b.p" in found.text()
    with pytest.raises(PatternError, match=r"storages 'a\.p' and 'b\.p'"):
        assemble(system)


def test_what_nothing_determines_is_named() -> None:
    ports = {"a": power(momentum), "b": power(momentum)}
    tie = compose(
        {"tie": Reversible(ports, constraint=[[1.0, -1.0]])},
        {"a": ("tie.a", "a"), "b": ("tie.b", "b")},
        ["a", "b"],
    )
    assert "on which no flow depends" in causality(tie).under[0]
    reads = compose(
        {"m": MeshFriction(0.1, 2.0), "env": Environment()},
        {"q": ("m.q",), "p": ("m.p",), "s": ("m.s", "env.s")},
    )
    assert "the state that m.q read at junction 'q'" in causality(reads).under[0]


def carried() -> System:
    """Two open bodies with a driven, warm hinge, nested once."""
    rod = mb.rigid_body(1.0, [0.1, 0.2, 0.1])
    hinge = mb.joint(mb.Revolute(), friction=0.1, driven=True)
    inner = mb.mechanism({"a": rod, "b": rod}, {"j": mb.Between("a", "b", hinge)}, open_bodies="ab")
    return compose({"in": inner}, {p: (f"in.{p}", p) for p in ("a", "b", "j")}, ["a", "b", "j"])


@pytest.mark.parametrize("make", [oscillator, drive, lambda: drive(0.0), carried])
def test_the_relation_of_any_parts_holds_for_the_motion_and_leaves_half_open(
    make: object, rng: np.random.Generator
) -> None:
    system = make()  # type: ignore[operator]
    equations = assemble(system, check=False)
    x = consistent_sample(equations, rng)
    inputs = {
        name: rng.normal(size=port.quantity.space.dimension)
        for name, port in system.interface.items()
    }
    found = relation_at(system, equations, x, inputs)
    rates, layout = equations.rates(x, inputs), equations.layout
    flows = np.concatenate(list(inputs.values()))
    efforts = np.concatenate([rates.efforts[layout.efforts[layout.outer[n]]] for n in inputs])
    assert found.distance(flows, efforts) < 1e-9 * (1.0 + np.abs(efforts).max())
    assert found.distance(flows, efforts + 1.0) > 0.1
    assert found.basis.shape == (2 * flows.size, flows.size)


def test_the_relation_of_friction_alone_is_its_law() -> None:
    system = compose(
        {
            "d": Damper(viscous=0.7),
            "m": Quadratic({"p": power(momentum)}, 0.5),
            "env": Environment(),
        },
        {"p": ("d.p", "m.p", "p"), "s": ("d.s", "env.s")},
        ["p"],
    )
    equations = assemble(system)
    found = relation_at(system, equations, equations.states.vector({"p": 3.0}))
    # The mass holds the velocity 1.5 m/s; the force is open.
    np.testing.assert_allclose(found.offset, [0.0, 1.5], atol=1e-12)
    np.testing.assert_allclose(np.abs(found.basis), [[1.0], [0.0]], atol=1e-12)
    with pytest.raises(PatternError, match="the equations have no box 'pe'"):
        relation_at(oscillator(), equations, equations.states.vector())
