# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interface: events, states in between, failing steps, wrong input, systems of other kinds."""

from typing import Any

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.errors import OptionError
from vms_ph_dynamics.forms import (
    CanonicalForm,
    DecoupledForm,
    PHState,
    Ports,
    StandardForm,
)
from vms_ph_dynamics.integrators import (
    SCHEMES,
    Event,
    IntegrationError,
    Observation,
    StepFailure,
    Stepper,
    StepResult,
    integrate,
)
from vms_ph_dynamics.integrators.integrate import find_crossing
from vms_ph_io import robots

from .conftest import moving, panda_on


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_body_without_joints_keeps_its_energy(scheme: str) -> None:
    block = VMSModel.from_urdf(
        """<robot name="block"><link name="block"><inertial><mass value="2"/>
        <inertia ixx="0.1" iyy="0.2" izz="0.25"/></inertial></link></robot>"""
    )
    form = DecoupledForm(block)
    start = form.state(block.home, np.array([0.1, 0.0, 0.3, 0.5, -0.4, 0.6]))
    run = integrate(form, start, dt=1e-3, steps=50, scheme=scheme)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-9


def test_a_run_is_recorded_at_every_so_many_steps_and_at_its_end() -> None:
    form, x = moving(panda_on("fixed"))
    run = integrate(form, x, dt=0.01, steps=25, stride=10, t0=1.0)
    np.testing.assert_allclose(run.t, [1.0, 1.1, 1.2, 1.25], atol=1e-12)
    assert len(run.states) == len(run.energy) == 4
    assert run.audit.stored.shape == (3,)
    assert run.q.shape == (4, 7)
    assert run.z.shape == (4, 7)
    assert run.spatial_momentum.shape == (4, 0)
    with pytest.raises(ValueError, match="read-only"):
        run.energy[0] = 0.0


def test_recording_less_often_changes_nothing_but_the_record() -> None:
    form, x = moving(panda_on("planar"))
    often = integrate(form, x, Ports(np.ones(7)), dt=1e-3, steps=40)
    seldom = integrate(form, x, Ports(np.ones(7)), dt=1e-3, steps=40, stride=20)
    np.testing.assert_array_equal(often.q[::20], seldom.q)
    total = often.audit.supplied["torque"].reshape(2, 20).sum(axis=1)
    np.testing.assert_allclose(total, seldom.audit.supplied["torque"], atol=1e-14)


@pytest.mark.parametrize("kind", [StandardForm, DecoupledForm])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_moves_a_robot_the_same_way_in_every_form(scheme: str, kind: type) -> None:
    decoupled, x = moving(panda_on("floating"))
    form = kind(decoupled.model)
    start = form.state(x.q, decoupled.velocity(x))
    run = integrate(form, start, Ports(np.ones(7)), dt=2e-3, steps=10, scheme=scheme)
    other = integrate(decoupled, x, Ports(np.ones(7)), dt=2e-3, steps=10, scheme=scheme)
    end, expected = run.states[-1], other.states[-1]
    # RK4 on one form's momenta is not RK4 on another's: apart by the error of the scheme.
    atol = 1e-7 if scheme in ("rk4", "rkmk4") else 1e-11
    np.testing.assert_allclose(form.model.difference(expected.q, end.q), 0, atol=atol)
    np.testing.assert_allclose(form.velocity(end), decoupled.velocity(expected), atol=100 * atol)


def test_an_event_is_found_on_the_motion_and_the_run_goes_on() -> None:
    form, x = moving(panda_on("fixed"))
    level = float(x.q[3]) - 0.02
    crossing = Event("elbow", lambda t, y: float(y.q[3]) - level, direction="down")
    with_event = integrate(form, x, dt=5e-3, steps=20, events=[crossing])
    assert [e.event for e in with_event.events] == ["elbow"] * len(with_event.events)
    (event,) = with_event.events
    assert event.state.q[3] == pytest.approx(level, abs=1e-12)
    assert len(with_event.t) == 21
    exact = integrate(form, x, dt=event.t / 200, steps=200)
    assert exact.q[-1, 3] == pytest.approx(level, abs=1e-8)
    plain = integrate(form, x, dt=5e-3, steps=20)
    np.testing.assert_allclose(with_event.q[-1], plain.q[-1], atol=1e-7)


def test_an_event_in_the_other_direction_does_not_count() -> None:
    form, x = moving(panda_on("fixed"))
    level = float(x.q[3]) - 0.02
    crossing = Event("elbow", lambda t, y: float(y.q[3]) - level, direction="up")
    assert not integrate(form, x, dt=5e-3, steps=20, events=[crossing]).events


def test_an_event_is_found_on_a_motion_that_goes_back_in_time() -> None:
    form, x = moving(panda_on("fixed"))
    level = float(x.q[3]) - 0.02
    crossing = Event("elbow", lambda t, y: float(y.q[3]) - level)
    forth = integrate(form, x, dt=5e-3, steps=20)
    back = integrate(form, forth.states[-1], dt=-5e-3, steps=20, t0=0.1, events=[crossing])
    (event,) = back.events
    assert event.state.q[3] == pytest.approx(level, abs=1e-12)
    before = integrate(form, x, dt=event.t / 20, steps=20)
    assert before.q[-1, 3] == pytest.approx(level, abs=1e-6)


@pytest.mark.parametrize("power", [0.2, 3.0], ids=["concave", "convex"])
def test_an_instant_is_located_in_few_evaluations_however_the_value_curves(power: float) -> None:
    times: list[float] = []

    def value(t: float) -> float:
        times.append(t)
        return t**power - 0.3**power

    assert find_crossing(value, -(0.3**power), 1.0 - 0.3**power, 1.0) == pytest.approx(
        0.3, abs=1e-12
    )
    assert len(times) <= 12


def test_a_terminal_event_ends_the_run() -> None:
    form, x = moving(panda_on("fixed"))
    end = Event("noon", lambda t, y: t - 0.0234, terminal=True)
    run = integrate(form, x, dt=5e-3, steps=20, events=[end])
    assert run.t[-1] == pytest.approx(0.0234, abs=1e-13)
    assert run.events[0].t == run.t[-1]


class Decay(Stepper):
    """xdot = -x by the implicit midpoint rule: a system that is no robot; long steps fail."""

    order = 2

    def begin(self, state: float, t: float) -> float:
        return state

    def step(self, solver_state: float, ports: Any, t: float, dt: float) -> StepResult:
        if abs(dt) > 0.3:
            raise StepFailure("longer than 0.3 s")
        after = solver_state * (1 - dt / 2) / (1 + dt / 2)
        lost = dt * ((solver_state + after) / 2) ** 2
        return StepResult(after, {"port": 0.0}, lost)

    def observe(self, solver_state: float) -> Observation:
        return Observation(solver_state, solver_state**2 / 2, np.zeros(0))


def test_a_step_that_fails_is_reported_and_taken_in_halves() -> None:
    run = integrate(None, 1.0, None, dt=1.0, steps=2, scheme=Decay())
    # 1 -> 0.5 -> 0.25 s: three failures a step.
    assert [(f.t, f.dt) for f in run.failures[:3]] == [(0.0, 1.0), (0.0, 0.5), (0.5, 0.5)]
    assert run.failures[0].reason == "longer than 0.3 s"
    quarter = (1 - 0.125) / (1 + 0.125)
    assert run.states[-1] == pytest.approx(quarter**8)
    np.testing.assert_allclose(run.audit.residual, 0.0, atol=1e-15)


def test_a_step_that_fails_however_short_ends_the_run() -> None:
    with pytest.raises(IntegrationError, match="fails even at dt="):
        integrate(None, 1.0, None, dt=1e4, steps=1, scheme=Decay())


def test_an_explicit_scheme_does_not_accept_a_state_that_is_not_finite() -> None:
    form, x = moving(panda_on("fixed"))
    for scheme in ("rk4", "rkmk4", "projected_rk4"):
        with pytest.raises(IntegrationError, match="fails even at dt="):
            integrate(form, x, Ports(np.full(7, 1e200)), dt=1.0, steps=3, scheme=scheme)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": 0.0}, "dt must be finite"),
        ({"dt": np.nan}, "dt must be finite"),
        ({"steps": -1}, "steps not negative"),
        ({"stride": 0}, "stride at least 1"),
        ({"scheme": "euler"}, "there is no scheme 'euler'; there are projected_rk4"),
        ({"ports": Ports(np.ones(3))}, r"torque must have shape \(7,\)"),
        ({"ports": lambda t, x: Ports(np.full(7, np.nan))}, "torque must be finite"),
        ({"ports": lambda t, x: None}, "ports are a Ports, .*given: a function that returns None"),
        ({"ports": np.ones(7)}, "ports are a Ports, or a function of time and state"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    form, x = moving(panda_on("fixed"))
    kind = OptionError if "scheme" in change else StateError
    with pytest.raises(kind, match=message):
        integrate(form, x, **{"dt": 1e-3, "steps": 1, **change})


def test_gravity_cannot_be_switched_within_a_run() -> None:
    form, x = moving(panda_on("fixed"))
    for scheme in ("rk4", "projected_rk4", "discrete_gradient"):
        with pytest.raises(StateError, match="must stay True"):
            integrate(
                form, x, lambda t, y: Ports(gravity=t < 2e-3), dt=1e-3, steps=5, scheme=scheme
            )


def test_a_robot_in_a_fluid_is_for_the_plain_schemes_only() -> None:
    model = robots.load("bluerov2_alpha5")
    form = DecoupledForm(model)
    x = form.state(model.neutral_configuration(), np.full(model.nv, 0.1))
    with pytest.raises(ModelError, match="use the scheme rk4 or rkmk4"):
        integrate(form, x, dt=1e-3, steps=1)
    run = integrate(form, x, dt=1e-3, steps=20, scheme="rkmk4")
    assert np.abs(run.audit.residual).max() < 1e-9


@pytest.mark.parametrize("scheme", ["projected_rk4", "discrete_gradient"])
def test_joints_that_mimic_others_take_part(scheme: str) -> None:
    xml = robots.get("panda").description()
    grip = """<link name="slider"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01"
      izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="slide" type="prismatic">
      <parent link="panda_link8"/><child link="slider"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/>
      <mimic joint="panda_joint4" multiplier="0.1"/></joint></robot>"""
    for base in ("fixed", "planar", "floating"):
        model = VMSModel.from_urdf(xml.replace("</robot>", grip), base)
        assert model.tree.projection is not None
        form, x = moving(model)
        run = integrate(form, x, dt=2e-3, steps=50, scheme=scheme, stride=50)
        assert not run.failures
        np.testing.assert_allclose(run.energy, run.energy[0], rtol=0, atol=1e-11)
        reference = integrate(form, x, dt=2e-3, steps=50, scheme="rkmk4", stride=50)
        apart = model.difference(reference.states[-1].q, run.states[-1].q)
        atol = 1e-6 if scheme == "projected_rk4" else 1e-3
        np.testing.assert_allclose(apart, 0, atol=atol)


def test_the_canonical_form_of_a_fixed_arm_is_integrated_like_the_others() -> None:
    form, x = moving(panda_on("fixed"))
    canonical = CanonicalForm(form.model)
    state = PHState(x.q, x.z)
    a = integrate(form, x, dt=1e-3, steps=20)
    b = integrate(canonical, state, dt=1e-3, steps=20)
    np.testing.assert_array_equal(a.q, b.q)


def test_the_trajectory_shows_its_size_its_scheme_and_its_residual() -> None:
    form, x = moving(panda_on("fixed"))
    run = integrate(form, x, dt=1e-3, steps=20, stride=10, scheme="rk4", native=False)
    assert repr(run).startswith("Trajectory(2 intervals, 0 to 0.02 s, scheme rk4, largest audit ")


def test_no_step_is_halved_where_halving_is_excluded() -> None:
    """The cause of the error is the failure itself, for those who want its reason."""
    form, x = moving(panda_on("fixed"))
    with pytest.raises(IntegrationError, match="fails even at dt=1 ") as caught:
        integrate(form, x, Ports(np.full(7, 1e200)), dt=1.0, steps=1, halvings=0)
    assert isinstance(caught.value.__cause__, StepFailure)
