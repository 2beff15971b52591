# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What goes wrong while running is named, and the state stays that of the last good step."""

from collections.abc import Callable

import numpy as np
import pytest

from vms_ph_dynamics import OptionError
from vms_ph_ephs import (
    InconsistentState,
    PatternError,
    Quadratic,
    Reversible,
    Simulation,
    SimulationError,
    Storage,
    TemperatureError,
    assemble,
    compose,
    power,
    simulate,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.quantities import displacement, entropy, momentum

from .examples import Damper, oscillator, pendulum, pendulum_state, two_free_bodies


def run(simulation: Simulation, steps: int) -> None:
    with np.errstate(all="ignore"):
        for _ in range(steps):
            simulation.step()


def test_bodies_that_do_not_meet_are_refused_with_the_joint() -> None:
    equations = assemble(pendulum())
    x = pendulum_state(equations)
    held = equations.layout.find("b2.q")
    moved = equations.states.value(x, "b2.q").copy()
    moved[0, 3] += 1e-3
    x[held.indices] = moved.ravel()
    with pytest.raises(InconsistentState, match=r"joint 'j2' do not meet: .* 0\.000[89]"):
        simulate(equations, x, steps=1)


def test_velocities_that_would_open_a_joint_are_refused_with_the_joint() -> None:
    equations = assemble(pendulum())
    x = pendulum_state(equations)
    x[equations.layout.find("b2.p").indices] += 0.1
    with pytest.raises(InconsistentState, match="velocities at 'j2'"):
        simulate(equations, x, steps=1)


def test_a_rounded_initial_state_is_put_on_the_constraints() -> None:
    equations = assemble(pendulum())
    x = pendulum_state(equations) + 1e-9
    assert simulate(equations, x, steps=1).violation[0] < 1e-12


def cooling(theta: float) -> Storage:
    """A fluid whose temperature is proportional to its entropy: it reaches zero."""
    return Storage(
        {"s": power(entropy)},
        lambda s: 0.5 * (s + theta) ** 2,
        lambda s: s + theta,
        lambda s: np.eye(1),
    )


def test_a_temperature_below_zero_is_refused_with_the_port_and_the_last_good_state() -> None:
    system = compose({"cold": cooling(1.0)}, {"s": ("cold.s", "s")}, ["s"])
    equations = assemble(system, theta_0=300.0, check=False)
    simulation = Simulation(
        equations, equations.states.vector(), dt=0.1, inputs=lambda t, x: {"s": [-0.95]}
    )
    with pytest.raises(TemperatureError, match=r"port 'cold.s' is .* K; it must be above zero"):
        run(simulation, 20)
    assert simulation.t == pytest.approx(1.0)
    assert simulation.x[0] == pytest.approx(-0.95)


def test_an_error_says_when_and_carries_the_last_good_state() -> None:
    system = compose({"cold": cooling(1.0)}, {"s": ("cold.s", "s")}, ["s"])
    equations = assemble(system, theta_0=300.0, check=False)
    with pytest.raises(TemperatureError, match=r"at t = 1 s") as caught:
        simulate(
            equations,
            equations.states.vector(),
            dt=0.1,
            steps=20,
            inputs=lambda t, x: {"s": [-0.95]},
        )
    assert caught.value.time == pytest.approx(1.0)
    np.testing.assert_allclose(np.asarray(caught.value.state), [-0.95])


def test_a_motion_that_explodes_is_stopped_at_its_last_finite_state() -> None:
    equations = assemble(oscillator(1e6, 1e-6))
    simulation = Simulation(equations, equations.states.vector({"q": 1.0}), dt=1.0)
    with pytest.raises(SimulationError, match=r"not finite|no finite"):
        run(simulation, 200)
    assert np.isfinite(simulation.x).all()


def wrong_shape() -> object:
    return assemble(pendulum()).states.vector({"b1.q": np.eye(3)})


def not_a_rotation() -> object:
    return assemble(pendulum()).states.vector({"b1.q": 2.0 * np.eye(4)})


def not_finite() -> object:
    return assemble(oscillator()).states.vector({"q": np.nan})


def words() -> object:
    return assemble(oscillator()).states.vector({"q": "far"})


def no_such_state() -> object:
    return assemble(oscillator()).states.vector({"x": 1.0})


def no_such_port() -> object:
    equations = assemble(oscillator())
    return equations.rates(equations.states.vector(), {"q": np.zeros(1)})


def no_such_joint() -> object:
    return mb.consistent_state(assemble(two_free_bodies()), {"k": 1.0})


def backwards() -> object:
    equations = assemble(oscillator())
    return simulate(equations, equations.states.vector(), dt=-1.0)


def another_scheme() -> object:
    equations = assemble(oscillator())
    return simulate(equations, equations.states.vector(), scheme="euler")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "kind", "parts"),
    [
        (wrong_shape, SimulationError, ["'b1.q'", "(4, 4)", "(3, 3)"]),
        (not_a_rotation, SimulationError, ["'b1.q'", "SE(3)"]),
        (not_finite, SimulationError, ["'q'", "finite"]),
        (words, SimulationError, ["'q'", "'far'"]),
        (no_such_state, PatternError, ["'x'", "q"]),
        (no_such_port, PatternError, ["'q'", "there are p"]),
        (no_such_joint, SimulationError, ["'k'", "j"]),
        (backwards, SimulationError, ["-1.0"]),
        (another_scheme, OptionError, ["'euler'", "discrete_gradient"]),
    ],
)
def test_a_wrong_argument_is_named(
    make: Callable[[], object], kind: type[Exception], parts: list[str]
) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert [part for part in parts if part not in str(caught.value)] == []


def test_a_massless_joint_in_a_chain_is_refused_by_name() -> None:
    # Two hinges in series with nothing between them.
    link = mb.joint(mb.Revolute())
    body = mb.rigid_body(1.0, [1.0, 1.0, 1.0])
    system = compose(
        {"ground": mb.Ground(), "a": link, "b": link, "body": body},
        {"g": ("ground.p", "a.p_1"), "m": ("a.p_2", "b.p_1"), "p": ("b.p_2", "body.p")},
    )
    with pytest.raises(PatternError, match="give the body there a mass"):
        assemble(system)


def test_a_velocity_that_nothing_determines_is_refused() -> None:
    spring = Quadratic({"q": power(displacement)}, 1.0)
    loose = Reversible({"q": power(displacement), "p": power(momentum)}, skew=[[0, -1], [1, 0]])
    system = compose({"pe": spring, "pkc": loose}, {"q": ("pe.q", "pkc.q"), "p": ("pkc.p",)})
    equations = assemble(system)
    # The free end of a spring carries no force: the spring stays at rest, or is no state.
    with pytest.raises(InconsistentState):
        simulate(equations, equations.states.vector({"q": 1.0}), steps=1)


def test_friction_alone_at_a_junction_stands_still() -> None:
    from vms_ph_ephs import Environment

    system = compose(
        {"mf": Damper(0.7), "env": Environment()}, {"p": ("mf.p",), "s": ("mf.s", "env.s")}
    )
    equations = assemble(system)
    assert simulate(equations, equations.states.vector(), steps=5).entropy[-1] == 0.0
