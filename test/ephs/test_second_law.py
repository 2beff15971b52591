# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The second law holds by construction, or is checked at every effort that occurs."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vms_ph_ephs import (
    Environment,
    Equations,
    Irreversible,
    LawError,
    Quadratic,
    Reversible,
    Storage,
    StructureError,
    assemble,
    compose,
    power,
    simulate,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.quantities import SE2_SPACE, SO3_SPACE, displacement, entropy, momentum

PORTS = {"p": power(momentum), "s": power(entropy)}


def braked(friction: Irreversible) -> Equations:
    """A mass of 1 kg with friction to an environment of 300 K."""
    return assemble(
        compose(
            {"ke": Quadratic({"p": power(momentum)}, 1.0), "mf": friction, "env": Environment(300)},
            {"p": ("ke.p", "mf.p"), "s": ("mf.s", "env.s")},
        )
    )


def rubbing(coefficient: Callable[[float], float]) -> Irreversible:
    """Friction as a free function of the velocity."""

    def onsager(states: object, e: np.ndarray, theta_0: float) -> np.ndarray:
        v, theta = e[0], theta_0 + e[1]
        return coefficient(v) * np.array([[theta, -v], [-v, v * v / theta]])

    return Irreversible(PORTS, onsager)


# Negative in a band that no sample hits, as a table with one wrong sign.
def wrong_in_a_band(v: float) -> float:
    return -0.4 if 4.0 < v < 5.0 else 0.4


@pytest.mark.parametrize("scheme", ["projected_rk4", "rk4", "discrete_gradient"])
def test_friction_that_destroys_entropy_where_it_is_not_sampled_stops_the_motion(
    scheme: str,
) -> None:
    equations = braked(rubbing(wrong_in_a_band))
    with pytest.raises(LawError, match=r"second law fails in box 'mf': at the efforts \[4\.") as e:
        simulate(equations, equations.states.vector({"ke.p": 6.0}), 0.01, 500, scheme=scheme)
    assert 0.0 < e.value.time < 1.0


def test_friction_that_is_negative_at_high_speed_is_refused_when_it_is_assembled() -> None:
    with pytest.raises(StructureError, match="negative eigenvalue"):
        braked(rubbing(lambda v: 1.0 - 0.2 * abs(v)))


def test_friction_that_loses_heat_where_it_is_not_sampled_stops_the_motion() -> None:
    def onsager(states: object, e: np.ndarray, theta_0: float) -> np.ndarray:
        v, theta = e[0], theta_0 + e[1]
        heat = 1.0 if not 4.0 < v < 5.0 else 0.5
        return 0.4 * np.array([[theta, -heat * v], [-heat * v, v * v / theta]])

    equations = braked(Irreversible(PORTS, onsager))
    with pytest.raises(LawError, match=r"first law fails in box 'mf'"):
        simulate(equations, equations.states.vector({"ke.p": 6.0}), 0.01, 500)


def test_a_friction_tensor_that_is_negative_somewhere_stops_the_motion() -> None:
    body = mb.rigid_body(1.0, [1.0, 1.0, 1.0], gravity=(0.0, 0.0, 0.0))
    joint = mb.joint(
        mb.Revolute(), friction=lambda q, u, theta: np.array([[wrong_in_a_band(float(u[0]))]])
    )
    equations = assemble(mb.mechanism({"b": body}, {"j": mb.Between("ground", "b", joint)}))
    with pytest.raises(LawError, match=r"second law fails in box 'j.mf': at the velocity \[4\."):
        simulate(equations, mb.consistent_state(equations, velocities={"j": 6.0}), 0.01, 500)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    speed=st.floats(-1e6, 1e6),
    theta=st.floats(1.0, 1e4),
)
@example(seed=8144, speed=20.0, theta=8640.399160274515)  # both velocities nearly cancel in K e
def test_rows_obey_both_laws_at_all_efforts(seed: int, speed: float, theta: float) -> None:
    # Two velocities and a temperature; K couples them and has rank one or two.
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(2, rng.integers(1, 3)))
    ports = {"p": power(momentum), "r": power(momentum), "s": power(entropy)}

    process = Irreversible(
        ports, rows=lambda states, e, theta_0: np.eye(2), conductance=half @ half.T
    )
    e = np.array([speed, speed * rng.normal(), theta - 300.0])
    flow = process.flows((), e, 300.0)
    process.check_flows("mf", e, flow, 300.0)
    # Entropy leaves at the rate at which friction takes power, divided by the temperature.
    # A power that is much less than K e^2 has the rounding of that.
    limits = np.finfo(float)
    rounding = 100 * limits.eps * np.abs(half @ half.T).sum() * (e[:2] @ e[:2]) + limits.tiny
    assert -flow[2] * theta == pytest.approx(flow[:2] @ e[:2], rel=1e-9, abs=rounding)
    # Powers of 1e-160 squared are below the smallest normal number, and their signs are rounding.
    assert flow[2] <= limits.tiny


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Irreversible(PORTS), "either its matrix M, or rows R"),
        (lambda: Irreversible(PORTS, rows=np.ones, conductance=-1.0), "K must be symmetric and"),
        (lambda: mb.Friction([[1.0, 2.0], [2.0, 1.0]], mb.Cylindrical()), "friction of a cylindr"),
        (lambda: mb.Friction([[1.0, 0.3], [0.1, 1.0]], mb.Cylindrical()), "must be symmetric"),
        (lambda: mb.Coulomb(0.1, -0.1), "friction must not be negative"),
        (lambda: mb.Coulomb(0.1, 0.1, slip=0.0), "slip and the reference .* must be above zero"),
        (lambda: mb.Conduction(-0.1), "the conductance of a conduction must be"),
        (lambda: Quadratic({"p": power(momentum)}, -1.0), "energy must not be negative"),
        (lambda: mb.Spring(mb.Revolute(), -1.0), "stiffness of a spring must be"),
    ],
)
def test_what_would_break_a_law_is_refused_when_it_is_made(
    make: Callable[[], object], words: str
) -> None:
    with pytest.raises(StructureError, match=words):
        make()


@given(speed=st.floats(-1e6, 1e6), theta=st.floats(1.0, 1e4), slope=st.floats(-1e3, 1e3))
def test_rows_obey_both_laws_at_all_efforts_by_construction(
    speed: float, theta: float, slope: float
) -> None:
    friction = Irreversible(
        {"p": power(momentum), "s": power(entropy)},
        rows=lambda states, e, theta_0: np.array([[slope * np.sin(e[0])], [e[0] ** 2]]),
        conductance=[[2.0, 1.0], [1.0, 0.5]],
    )
    e = np.array([speed, theta - 300.0])
    flow = friction.flows((), e, 300.0)
    assert friction.is_lawful
    assert flow[1] <= 0.0  # entropy is produced
    # Below the smallest normal number a product keeps no relative accuracy.
    rounding = 1e-12 * abs(speed * flow[0]) + np.finfo(float).tiny
    assert abs(speed * flow[0] + theta * flow[1]) <= rounding


def test_rows_need_one_port_for_their_heat() -> None:
    with pytest.raises(StructureError, match="one port of entropy; the component has 2"):
        Irreversible(
            {"p": power(momentum), "a": power(entropy), "b": power(entropy)},
            rows=lambda states, e, theta_0: np.ones((1, 1)),
            conductance=1.0,
        )


def held_by(spring: Storage) -> Equations:
    skew = [[0, -1], [1, 0]]
    return assemble(
        compose(
            {
                "spring": spring,
                "mass": Quadratic({"p": power(momentum)}, 1.0),
                "pkc": Reversible({"q": power(displacement), "p": power(momentum)}, skew=skew),
            },
            {"q": ("spring.q", "pkc.q"), "p": ("mass.p", "pkc.p")},
        )
    )


def well(depth: float) -> Storage:
    """A potential that falls below zero only around q = 5.2, between the samples."""
    at = 5.2

    def energy(q: np.ndarray) -> np.ndarray:
        return 0.5 - depth * np.exp(-((q - at) ** 2) / 0.02)

    def slope(q: np.ndarray) -> np.ndarray:
        return depth * np.exp(-((q - at) ** 2) / 0.02) * (q - at) / 0.01

    return Storage({"q": power(displacement)}, energy, slope, lower_bound=0.0)


def test_an_energy_below_its_lower_bound_ends_the_motion_in_that_step() -> None:
    equations = held_by(well(2.0))
    start = equations.states.vector({"q": 4.0, "p": 2.0})
    with pytest.raises(LawError, match=r"energy of box 'spring' is -.*below its lower bound") as e:
        simulate(equations, start, 1e-2, 100)
    assert e.value.time == pytest.approx(0.5, abs=0.1)
    assert equations.storages.unbounded_boxes() == []


def test_an_energy_that_is_below_its_lower_bound_at_a_sample_is_refused() -> None:
    falling = Storage(
        {"q": power(displacement)}, lambda q: -q, lambda q: -np.ones(1), lower_bound=-2.0
    )
    with pytest.raises(StructureError, match=r"box 'spring'.*below its lower bound of -2 J"):
        held_by(falling)


def test_a_bracket_that_makes_power_where_it_is_not_sampled_stops_the_motion() -> None:
    def skew(q: np.ndarray) -> np.ndarray:
        return np.array([[0.0, -1.0], [1.0, 0.5 * (abs(float(q[0]) - 5.2) < 0.1)]])

    spring = Quadratic({"q": power(displacement)}, 1.0)
    mass = Quadratic({"p": power(momentum)}, 1.0)
    pkc = Reversible({"q": power(displacement), "p": power(momentum)}, skew=skew, reads=("q",))
    equations = assemble(
        compose(
            {"spring": spring, "mass": mass, "pkc": pkc},
            {"q": ("spring.q", "pkc.q"), "p": ("mass.p", "pkc.p")},
        )
    )
    with pytest.raises(LawError, match="the first law fails in box 'pkc'"):
        simulate(equations, equations.states.vector({"p": 6.0}), 1e-2, 200)


def test_gyroscopic_forces_do_no_work_in_any_group(rng: np.random.Generator) -> None:
    p, e = rng.normal(size=(2, 6))
    for space, part in ((SE2_SPACE, [0, 1, 5]), (SO3_SPACE, [3, 4, 5])):
        # A motion within a subgroup is one of the whole body, which has all momenta.
        whole = np.zeros((2, 6))
        whole[:, part] = p[part], e[part]
        force = mb.LiePoisson(space).law(None, [p[part]], e[part])
        np.testing.assert_allclose(
            force, np.array(mb.LiePoisson().law(None, [whole[0]], whole[1]))[part]
        )
        assert np.dot(force, e[part]) == pytest.approx(0.0, abs=1e-12)
