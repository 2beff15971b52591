# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Systems of components through ``integrate``: motion, energy balance, events, failed steps."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid

from vms_ph_dynamics import IntegrationError, ModelError, OptionError, integrate
from vms_ph_dynamics.integrators import Event
from vms_ph_ephs import (
    Environment,
    EphsStepper,
    Equations,
    InconsistentState,
    PatternError,
    Quadratic,
    Reversible,
    assemble,
    compose,
    displacement,
    momentum,
    power,
    simulate,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.simulation import SCHEMES

from .examples import oscillator, pendulum, pendulum_state
from .test_closed_loops import assembled_four_bar

HEATED = mb.Heat(capacity=20.0, conductance=0.1)


def angle(equations: Equations, joint: str, x: np.ndarray) -> float:
    return float(equations.states.value(x, f"{joint}.q_r")[0])


@pytest.mark.parametrize("heat", [None, HEATED], ids=["isothermal", "heated"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_pendulum_moves_as_in_its_own_simulation(scheme: Any, heat: mb.Heat | None) -> None:
    equations = assemble(pendulum(heat))
    x = pendulum_state(equations)
    run = integrate(equations, x, dt=2e-3, steps=30, stride=10, scheme=scheme)
    motion = simulate(equations, x, dt=2e-3, steps=30, stride=10, scheme=scheme)
    np.testing.assert_array_equal(run.states, motion.states)
    assert run.spatial_momentum.shape == (4, 0)
    assert not run.failures


@pytest.mark.parametrize("heat", [None, HEATED], ids=["isothermal", "heated"])
def test_exergy_that_the_pendulum_loses_is_entropy_produced(heat: mb.Heat | None) -> None:
    equations = assemble(pendulum(heat))
    x = pendulum_state(equations)
    run = integrate(equations, x, dt=2.5e-3, steps=120, stride=20)
    assert np.abs(np.cumsum(run.audit.residual)).max() < 1e-9
    assert run.audit.dissipated.min() > 0.0
    entropy = [equations.storages.entropy(state) for state in run.states]
    # Entropies of heat capacities are some J/K, at 298 K: rounding of their sums.
    np.testing.assert_allclose(
        run.audit.dissipated, equations.theta_0 * np.diff(entropy), rtol=0, atol=1e-12
    )
    assert run.audit.dissipated.sum() > 0.1


def test_the_exergy_of_an_isothermal_pendulum_is_its_mechanical_energy() -> None:
    equations = assemble(pendulum())
    run = integrate(equations, pendulum_state(equations), dt=2e-3, steps=50, stride=25)
    for x, energy in zip(run.states, run.energy, strict=True):
        parts = equations.storages.energies(x)
        mechanical = sum(e for box, e in parts.items() if not box.endswith(".env"))
        # Rounding of theta_0 s, which cancels.
        assert energy == pytest.approx(mechanical, abs=1e-13)


@pytest.mark.parametrize("heat", [None, HEATED], ids=["isothermal", "heated"])
def test_discrete_gradients_close_the_energy_balance_of_every_step_to_rounding(
    heat: mb.Heat | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    equations, evaluated = assemble(pendulum(heat)), []
    tangent = equations.midpoint_tangent
    monkeypatch.setattr(
        equations, "midpoint_tangent", lambda *at: evaluated.append(at) or tangent(*at)
    )
    x = pendulum_state(equations)
    run = integrate(equations, x, dt=4e-3, steps=50, scheme="discrete_gradient")
    # Rounding of the total energy, which counts 6 kJ of heat at 298 K where there is a capacity.
    energy = abs(equations.storages.energy(x))
    limit = 1e-13 if heat is None else 4 * np.finfo(float).eps * energy
    assert np.abs(run.audit.residual).max() < limit
    assert run.audit.dissipated.min() > 0.0
    assert run.audit.iterations.min() > 1
    assert run.audit.iterations.sum() == len(evaluated)


def straight_joints(equations: Equations) -> list[Event]:
    return [
        Event(joint, lambda t, y, joint=joint: angle(equations, joint, y)) for joint in ("j1", "j2")
    ]


@pytest.fixture(scope="module")
def exact_instants() -> list[float]:
    equations = assemble(pendulum())
    x, straight = pendulum_state(equations), straight_joints(equations)
    run = integrate(equations, x, dt=2e-3, steps=425, stride=425, events=straight)
    return [event.t for event in run.events]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_instant_at_which_a_joint_is_straight_is_found(
    scheme: str, exact_instants: list[float]
) -> None:
    equations = assemble(pendulum())
    x, straight = pendulum_state(equations), straight_joints(equations)
    run = integrate(equations, x, dt=5e-3, steps=170, scheme=scheme, events=straight)
    assert {event.event for event in run.events} == {"j1", "j2"}
    for event in run.events:
        # 1e-12 of the step, at some rad/s.
        assert angle(equations, event.event, event.state) == pytest.approx(0.0, abs=1e-13)
    assert len(run.t) == 171
    # The error of each scheme over a second: 2e-8 s and 2e-4 s.
    atol = {"projected_rk4": 1e-7, "rk4": 1e-7, "discrete_gradient": 1e-3}[scheme]
    times = [event.t for event in run.events]
    np.testing.assert_allclose(times, exact_instants, rtol=0, atol=atol)


def test_a_run_ends_where_a_joint_is_straight_if_it_is_asked_to() -> None:
    equations = assemble(pendulum())
    end = Event("straight", lambda t, y: angle(equations, "j2", y), terminal=True)
    run = integrate(equations, pendulum_state(equations), dt=5e-3, steps=400, events=[end])
    assert run.t[-1] == run.events[0].t < 2.0
    assert np.abs(run.audit.residual).max() < 1e-9


@pytest.mark.parametrize("scheme", ["projected_rk4", "discrete_gradient"])
def test_a_step_too_long_is_taken_in_halves_and_reported(scheme: str) -> None:
    equations = assemble(pendulum())
    x = pendulum_state(equations)
    run = integrate(equations, x, dt=1.0, steps=1, scheme=scheme)
    assert run.failures[0].t == 0.0
    assert run.failures[0].dt == 1.0
    reasons = {"projected_rk4": "opens joint 'j", "discrete_gradient": "does not converge"}
    assert reasons[scheme] in run.failures[0].reason
    assert "use a shorter" in run.failures[0].reason
    np.testing.assert_allclose(run.t, [0.0, 1.0])
    assert run.audit.dissipated.min() > 0.0
    halves = np.array([f.dt for f in run.failures])
    assert halves.min() < 0.5
    if scheme == "discrete_gradient":
        np.testing.assert_allclose(run.audit.residual, 0.0, atol=1e-12)
    else:
        exact = integrate(equations, x, dt=4e-3, steps=250, stride=250)
        # A step may open a joint by 1e-3, and some dozen steps of that size add up.
        np.testing.assert_allclose(run.states[1], exact.states[-1], atol=2e-2)


def test_a_closed_loop_too_fast_for_its_step_goes_in_halves() -> None:
    equations, x = assembled_four_bar()
    run = integrate(equations, x, dt=0.5, steps=1)
    assert run.failures
    assert EphsStepper(equations).projection.check(np.array(run.states[-1]), 1e-6) is None


def test_a_step_that_fails_however_short_is_an_error_with_its_reason() -> None:
    equations = assemble(oscillator(1e6, 1e-6))
    x = equations.states.vector({"q": 1.0})
    with pytest.raises(IntegrationError, match=r"fails even at dt=.*no finite continuation"):
        integrate(equations, x, dt=1e200, steps=1)


def driven_body() -> Equations:
    return assemble(
        mb.mechanism(
            {"b": mb.rigid_body(1.0, [0.2, 0.2, 0.2])},
            {"j": mb.Between("ground", "b", mb.joint(mb.Revolute(), friction=0.1, driven=True))},
            open_bodies=["b"],
        )
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_work_from_outside_is_supplied_through_its_port(scheme: Any) -> None:
    equations = driven_body()

    def inputs(t: float, x: np.ndarray) -> dict[str, Any]:
        return {"j": [np.sin(5 * t)], "b": [0.0, 0.0, 0.0, 0.0, 0.0, 0.4]}

    run = integrate(
        equations, mb.consistent_state(equations), inputs, dt=1e-3, steps=50, scheme=scheme
    )
    assert set(run.audit.supplied) == {"j", "b"}
    # Torques of the joint and of the body act about one axis and supply energy as two torques do.
    rate = np.array([equations.states.value(x, "b.p")[5] / 0.2 for x in run.states])
    expected = trapezoid(np.sin(5 * run.t) * rate, run.t)
    assert run.audit.supplied["j"].sum() == pytest.approx(expected, abs=1e-6)
    assert run.audit.supplied["b"].sum() == pytest.approx(0.4 * trapezoid(rate, run.t), abs=1e-6)
    assert np.abs(run.audit.residual).max() < 1e-12
    motion = simulate(
        equations, mb.consistent_state(equations), dt=1e-3, steps=50, inputs=inputs, scheme=scheme
    )
    assert sum(w.sum() for w in run.audit.supplied.values()) == pytest.approx(motion.supplied[-1])


def test_flows_may_be_held() -> None:
    equations = driven_body()
    held = {"j": [0.3]}
    a = integrate(equations, mb.consistent_state(equations), held, dt=1e-3, steps=20)
    b = integrate(equations, mb.consistent_state(equations), lambda t, x: held, dt=1e-3, steps=20)
    np.testing.assert_array_equal(a.states, b.states)
    assert a.audit.supplied["j"].sum() > 0.0


def test_heat_that_enters_where_nothing_stores_it_brings_energy() -> None:
    # The port has the temperature at which conduction passes the entropy on.
    system = compose(
        {"c": mb.Conduction(0.5), "env": Environment(300.0)},
        {"a": ("c.a", "in"), "b": ("c.b", "env.s")},
        ["in"],
    )
    equations = assemble(system)
    theta, flow = 0.5 * 300.0 / (0.5 - 0.02), {"in": [0.02]}
    run = integrate(equations, equations.states.vector(), flow, dt=0.01, steps=10)
    assert run.audit.supplied["in"].sum() == pytest.approx(0.1 * 0.02 * (theta - 300.0))
    # All of it is destroyed: the environment has none.
    np.testing.assert_allclose(run.audit.residual, 0.0, atol=1e-15)
    motion = simulate(equations, equations.states.vector(), dt=0.01, steps=10, inputs=flow)
    assert motion.supplied[-1] == pytest.approx(0.1 * 0.02 * theta)
    np.testing.assert_allclose(motion.first_law, 0.0, atol=1e-14)


def test_steps_forward_and_back_lead_to_the_beginning() -> None:
    spring = Quadratic({"q": power(displacement)}, 2.0)
    mass = Quadratic({"p": power(momentum)}, 1 / 3.0)
    both = Reversible({"q": power(displacement), "p": power(momentum)}, skew=[[0, -1], [1, 0]])
    system = compose(
        {"pe": spring, "ke": mass, "pkc": both}, {"q": ("pe.q", "pkc.q"), "p": ("ke.p", "pkc.p")}
    )
    equations = assemble(system)
    x = equations.states.vector({"q": 1.0})
    run = integrate(equations, x, dt=0.1, steps=50, scheme="discrete_gradient")
    back = integrate(equations, run.states[-1], dt=-0.1, steps=50, scheme="discrete_gradient")
    np.testing.assert_allclose(back.states[-1], x, atol=1e-12)


def test_what_a_step_gives_does_not_depend_on_steps_tried_before() -> None:
    equations = assemble(pendulum())
    for scheme in SCHEMES:
        stepper = EphsStepper(equations, scheme)
        start = stepper.begin(pendulum_state(equations), 0.0)
        first = stepper.step(start, None, 0.0, 1e-3)
        stepper.step(first.solver_state, None, 1e-3, 7e-3)
        again = stepper.step(start, None, 0.0, 1e-3)
        np.testing.assert_array_equal(first.solver_state.x, again.solver_state.x)


def test_a_scheme_that_is_not_there_is_named() -> None:
    equations = assemble(oscillator())
    with pytest.raises(OptionError, match=r"no scheme 'variational'; there are projected_rk4, "):
        integrate(equations, equations.states.vector(), dt=0.1, steps=1, scheme="variational")


def test_a_system_that_is_not_assembled_is_refused() -> None:
    with pytest.raises(ModelError, match=r"equations that ephs\.assemble gives.*given: System"):
        integrate(oscillator(), np.zeros(2), dt=0.1, steps=1)


def test_bodies_that_do_not_meet_and_ports_that_are_not_there_are_refused() -> None:
    equations = assemble(pendulum())
    x = pendulum_state(equations)
    x[equations.layout.find("b2.p").indices] += 0.1
    with pytest.raises(InconsistentState, match="velocities at 'j2'"):
        integrate(equations, x, dt=1e-3, steps=1)
    with pytest.raises(PatternError, match="no outer power port 'p'"):
        integrate(equations, pendulum_state(equations), {"p": [1.0]}, dt=1e-3, steps=1)


def test_the_recorded_motion_shows_its_size_and_the_unaccounted_energy() -> None:
    equations = assemble(oscillator())
    motion = simulate(equations, equations.states.vector({"q": 1.0}), dt=0.1, steps=7, stride=2)
    assert repr(motion).startswith("Trajectory(4 instants from 0 to 0.6 s, largest unaccounted ")
