# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Composing patterns and then taking the equations is taking the equations and then composing."""

import numpy as np
import pytest

import vms_ph_ephs as ephs
from vms_ph_ephs import (
    Quadratic,
    Reversible,
    assemble,
    compose,
    flatten,
    power,
    substitute,
)
from vms_ph_ephs.equations.assembly import with_consistent_velocities
from vms_ph_ephs.quantities import Euclidean, Quantity

from .examples import Damper, damped_oscillator, oscillator, pendulum, pendulum_state
from .relations import relation

QUANTITIES = [Quantity(Euclidean(n), name) for n, name in ((1, "a"), (2, "b"), (3, "c"))]


def random_component(rng: np.random.Generator) -> Reversible:
    """A random Dirac structure: a skew matrix, and constraints with multipliers."""
    ports = {
        f"x{i}": power(QUANTITIES[int(rng.integers(3))]) for i in range(int(rng.integers(2, 5)))
    }
    n = sum(p.quantity.space.dimension for p in ports.values())
    m = rng.normal(size=(n, n))
    rows = int(rng.integers(0, max(1, n // 3) + 1))
    constraint = rng.normal(size=(rows, n)) if rows else None
    return Reversible(ports, skew=m - m.T, constraint=constraint)


def random_system(rng: np.random.Generator, depth: int, shows: int = 2) -> ephs.System:
    """A random pattern with random systems in its boxes; ports of one quantity meet at random."""
    boxes: dict[str, ephs.System | ephs.Component] = {}
    for i in range(int(rng.integers(2, 4))):
        deep = depth > 0 and rng.random() < 0.7
        boxes[f"s{i}"] = random_system(rng, depth - 1, shows) if deep else random_component(rng)
    ends = [f"{b}.{p}" for b, s in boxes.items() for p in s.interface]
    junctions: dict[str, tuple[str, ...]] = {}
    outer: list[str] = []
    rng.shuffle(ends)
    while ends:
        first = ends.pop()
        quantity = _quantity(boxes, first)
        others = [e for e in ends if _quantity(boxes, e) == quantity]
        chosen = others[: int(rng.integers(0, 3))]
        ends = [e for e in ends if e not in chosen]
        name = f"n{len(junctions)}"
        wires = (first, *chosen)
        # A junction may show at several outer ports, or at none.
        for _ in range(int(rng.integers(0, shows + 1)) if chosen else 1):
            outer.append(f"o{len(outer)}")
            wires += (outer[-1],)
        junctions[name] = wires
    if not outer:
        outer.append("o0")
        junctions["n0"] += ("o0",)
    return compose(boxes, junctions, outer)


def _quantity(boxes: dict[str, ephs.System | ephs.Component], end: str) -> Quantity:
    box, port = end.split(".")
    return boxes[box].interface[port].quantity


@pytest.mark.parametrize("seed", range(25))
def test_the_dirac_structure_of_a_hierarchy_is_that_of_its_flat_pattern(seed: int) -> None:
    system = random_system(np.random.default_rng(seed), 2)
    level_by_level, flat = relation(system), relation(flatten(system))
    # Bases of random matrices of condition up to 1e4.
    assert np.abs(level_by_level.projector - flat.projector).max() < 1e-9


@pytest.mark.parametrize("seed", range(25))
def test_the_composite_of_dirac_structures_is_one(seed: int) -> None:
    composed = relation(random_system(np.random.default_rng(seed), 2))
    n = composed.basis.shape[0] // 2
    assert composed.basis.shape[1] == n
    assert composed.power() < 1e-10


@pytest.mark.parametrize("seed", range(10))
def test_flattening_from_inside_or_from_outside_gives_one_pattern(seed: int) -> None:
    system = random_system(np.random.default_rng(100 + seed), 2)
    inside = flatten(system).pattern
    outside = system.pattern
    todo = dict(system.fillings)
    while any(isinstance(s, ephs.System) for s in todo.values()):
        inner = {b: s for b, s in todo.items() if isinstance(s, ephs.System)}
        outside = substitute(outside, {b: s.pattern for b, s in inner.items()})
        todo = {b: s for b, s in todo.items() if b not in inner}
        for box, s in inner.items():
            todo |= {f"{box}.{name}": filling for name, filling in s.fillings.items()}
    assert dict(inside.boxes) == dict(outside.boxes)
    groups = [{frozenset(ends) for ends in p.junctions.values()} for p in (inside, outside)]
    assert groups[0] == groups[1]


@pytest.mark.parametrize("seed", range(15))
def test_a_hierarchy_with_masses_moves_as_its_flat_pattern_does(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    # One port a junction: two masses at one junction would be refused.
    system = random_system(rng, 1, shows=1)
    boxes: dict[str, ephs.System | ephs.Component] = {"inner": system}
    junctions = {}
    for name, port in system.interface.items():
        n = port.quantity.space.dimension
        m = rng.normal(size=(n, n))
        boxes[f"m_{name}"] = Quadratic({"x": port}, m @ m.T + np.eye(n))
        junctions[name] = (f"inner.{name}", f"m_{name}.x")
    equations = assemble(compose(boxes, junctions))
    x = with_consistent_velocities(equations, rng.normal(size=equations.layout.size))
    rates = equations.rates(x)
    # The flows and efforts of the masses are a member of the level-by-level relation.
    r = relation(system)
    f = np.concatenate([-rates.tangent[equations.layout.entries[j]] for j in junctions])
    e = np.concatenate([rates.efforts[equations.layout.entries[j]] for j in junctions])
    member = np.concatenate([f, e])
    # Masses and structures of random matrices: condition up to 1e5.
    assert np.abs(r.projector @ member - member).max() < 1e-9 * (1.0 + np.abs(member).max())


def test_the_damped_oscillator_is_the_same_nested_and_flat() -> None:
    nested = assemble(damped_oscillator())
    osc = oscillator()
    flat = compose(
        {**osc.fillings, "mf": Damper(0.7), "env": ephs.Environment(300.0)},
        {
            "q": ("pe.q", "pkc.q"),
            "p": ("ke.p", "pkc.p", "mf.p"),
            "s": ("mf.s", "env.s"),
        },
    )
    other = assemble(flat)
    values = {"q": 0.3, "p": -1.2, "s": 0.0}
    a = nested.rates(nested.states.vector({"osc.q": 0.3, "p": -1.2}))
    b = other.rates(other.states.vector(values))
    for one, two in (("osc.q", "q"), ("p", "p"), ("s", "s")):
        at, to = nested.layout.find(one).tangent, other.layout.find(two).tangent
        np.testing.assert_array_equal(a.tangent[at], b.tangent[to])


def test_the_flattened_multibody_system_moves_as_the_nested_one(rng: np.random.Generator) -> None:
    nested = assemble(pendulum())
    flat = assemble(flatten(pendulum()))
    x = pendulum_state(nested)
    np.testing.assert_array_equal(nested.rates(x).tangent, flat.rates(x).tangent)
