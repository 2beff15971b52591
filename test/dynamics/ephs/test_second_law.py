"""The second law holds by construction, or is checked at every effort that occurs."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics.ephs import (
    Environment,
    Equations,
    Irreversible,
    LawError,
    Quadratic,
    StructureError,
    assemble,
    compose,
    power,
    simulate,
)
from vms_ph_dynamics.ephs import multibody as mb
from vms_ph_dynamics.ephs.quantities import entropy, momentum

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
        simulate(equations, mb.place(equations, velocities={"j": 6.0}), 0.01, 500)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    speed=st.floats(-1e6, 1e6),
    theta=st.floats(1.0, 1e4),
)
def test_a_factor_obeys_both_laws_at_all_efforts(seed: int, speed: float, theta: float) -> None:
    # Two velocities and a temperature; K couples them and has rank one or two.
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(2, rng.integers(1, 3)))
    ports = {"p": power(momentum), "r": power(momentum), "s": power(entropy)}

    def factor(states: object, e: np.ndarray, theta_0: float) -> np.ndarray:
        hot = theta_0 + e[2]
        return np.sqrt(hot) * np.column_stack([np.eye(2), -e[:2] / hot])

    process = Irreversible(ports, factor=factor, conductance=half @ half.T)
    e = np.array([speed, speed * rng.normal(), theta - 300.0])
    flow = process.flows((), e, 300.0)
    process.check_flows("mf", e, flow, 300.0)
    # Entropy leaves at the rate at which friction takes power, divided by the temperature.
    assert -flow[2] * theta == pytest.approx(flow[:2] @ e[:2], rel=1e-9)
    assert flow[2] <= 0.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Irreversible(PORTS), "either its matrix M, or a factor N"),
        (lambda: Irreversible(PORTS, factor=np.ones, conductance=-1.0), "K must be symmetric and"),
        (lambda: mb.Friction([[1.0, 2.0], [2.0, 1.0]], mb.Cylindrical()), "friction of a cylindr"),
        (lambda: mb.Friction([[1.0, 0.3], [0.1, 1.0]], mb.Cylindrical()), "must be symmetric"),
        (lambda: mb.coulomb(0.1, -0.1), "friction must not be negative"),
        (lambda: mb.coulomb(0.1, 0.1, slip=0.0), "slip must be above zero"),
        (lambda: mb.Conduction(-0.1), "a conductance must be"),
        (lambda: Quadratic({"p": power(momentum)}, -1.0), "energy must not be negative"),
        (lambda: mb.Spring(mb.Revolute(), -1.0), "stiffness of a spring must be"),
    ],
)
def test_what_would_break_a_law_is_refused_when_it_is_made(
    make: Callable[[], object], words: str
) -> None:
    with pytest.raises(StructureError, match=words):
        make()
