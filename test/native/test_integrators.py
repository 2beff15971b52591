# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled schemes: the same motion as in Python, and what physics keeps over long runs."""

from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
import pinocchio as pin
import pytest
from dynamics.conftest import random_tree, state_of
from dynamics.integrators.conftest import brake_to_rest, centred, hover_late, moving, panda_on
from hypothesis import given, settings
from hypothesis import strategies as st

import vms_ph_dynamics.native as choice
from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.forms import DecoupledForm, PHState, Ports, StandardForm
from vms_ph_dynamics.integrators import COMPILED, Event, IntegrationError, integrate, make_stepper
from vms_ph_dynamics.simulation import FormEngine, Simulation, in_world_axes
from vms_ph_io import robots

pytestmark = pytest.mark.usefixtures("native")

SPACE = Ports(gravity=False)
EXACT = ("projected_rk4", "projected_midpoint", "discrete_gradient")
STRENGTH = np.array([1.0, 1.0, 0.5, 0.5, 0.05, 0.05, 0.01])


def both(form: DecoupledForm, x: PHState, ports: object, **how: object) -> list:  # type: ignore[type-arg]
    """The same run in C++ and in Python."""
    return [integrate(form, x, ports, native=native, **how) for native in (True, False)]  # type: ignore[arg-type]


def assert_same(one, other, rtol: float = 1e-12) -> None:  # type: ignore[no-untyped-def]
    """Trajectories and books agree, in proportion to the largest number of each kind."""
    assert not one.failures
    assert not other.failures
    model = one._stepper.model
    for x, y in zip(one.states, other.states, strict=True):
        reach = 1.0 + np.abs(x.q).max()
        np.testing.assert_allclose(model.difference(x.q, y.q), 0.0, atol=rtol * reach)
        np.testing.assert_allclose(x.z, y.z, rtol=0, atol=rtol * (1.0 + np.abs(y.z).max()))
    works = np.stack([*other.audit.supplied.values(), other.audit.dissipated])
    ours = np.stack([*one.audit.supplied.values(), one.audit.dissipated])
    assert one.audit.supplied.keys() == other.audit.supplied.keys()
    np.testing.assert_allclose(ours, works, rtol=0, atol=rtol * (1.0 + np.abs(works).max()))


@pytest.mark.parametrize("scheme", COMPILED)
@given(seed=st.integers(0, 2**31), gravity=st.booleans())
@settings(max_examples=6, deadline=None)
def test_a_random_robot_moves_the_same_way_in_both_languages(
    scheme: str, seed: int, gravity: bool
) -> None:
    model = random_tree(seed)
    rng = np.random.default_rng(seed)
    form = DecoupledForm(model)
    x = form.state(*state_of(model, rng))
    ports = Ports(
        rng.uniform(-1, 1, model.n),
        rng.uniform(-1, 1, model.b),
        rng.uniform(-1, 1, 6),
        gravity=gravity,
        friction=Friction(rng.uniform(0, 0.1, model.n), rng.uniform(0, 0.1, model.n), 0.1),
    )
    for acting in (Ports(gravity=gravity), ports):
        assert_same(*both(form, x, acting, dt=1e-3, steps=10, scheme=scheme))


@pytest.mark.parametrize("scheme", COMPILED)
@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_an_arm_pushed_and_pulled_moves_the_same_way_in_both_languages(
    base: str, scheme: str
) -> None:
    form, x = moving(panda_on(base, (1.0, -2.0, -9.0)))
    ports = Ports(
        STRENGTH,
        None if base == "fixed" else np.linspace(2.0, -1.0, form.model.b),
        np.array([5.0, 0.0, 3.0, 0.0, 0.2, 0.0]),
        friction=Friction(0.1 * STRENGTH, 0.05 * STRENGTH),
    )
    one, other = both(form, x, ports, dt=1e-3, steps=100, scheme=scheme, stride=20)
    assert_same(one, other)
    np.testing.assert_array_equal(one.audit.iterations > 0, not scheme.startswith("projected"))
    # The books close in C++ as they do in Python: projected, or by the discrete gradient.
    assert np.abs(one.audit.residual).max() < 1e-12 * np.abs(one.energy).max()


@pytest.mark.parametrize("scheme", COMPILED)
@pytest.mark.parametrize("name", ["panda", "satellite_panda"])
def test_a_law_of_time_and_state_acts_in_a_compiled_run_as_in_any(name: str, scheme: str) -> None:
    model = robots.load(name)
    form = StandardForm(model)
    x = form.state(*state_of(model, np.random.default_rng(2)))

    def spring(t: float, x: PHState) -> Ports:
        return Ports(-0.1 * np.sin(3 * t) * np.ones(model.n))

    assert_same(*both(form, x, spring, dt=1e-3, steps=20, scheme=scheme, stride=5))


@pytest.mark.parametrize("scheme", COMPILED)
def test_a_run_may_begin_with_a_law_and_go_on_with_held_efforts(scheme: str) -> None:
    form, x = moving(panda_on("floating"))
    held = Ports(STRENGTH)
    ends = []
    for native in (True, False):
        stepper = make_stepper(scheme, form, native=native)
        solver_state = stepper.begin(x, 0.0)
        for k in range(12):
            ports = held if k >= 6 else lambda t, x: held
            solver_state = stepper.step(solver_state, ports, 1e-3 * k, 1e-3).solver_state
        ends.append(np.concatenate(stepper.motion(solver_state)))
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-12)


PORTS = {
    "free": Ports(),
    "pulled": Ports(STRENGTH, friction=Friction(0.1 * STRENGTH, 0 * STRENGTH)),
}


@cache
def end(base: str, ports: str, scheme: str, steps: int, native: bool) -> PHState:
    form, x = moving(panda_on(base))
    run = integrate(
        form, x, PORTS[ports], dt=0.3 / steps, steps=steps, scheme=scheme, stride=steps,
        native=native,
    )  # fmt: skip
    assert not run.failures
    return run.states[-1]


@pytest.mark.parametrize("ports", PORTS)
@pytest.mark.parametrize("scheme", COMPILED)
@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_the_order_of_a_compiled_scheme_is_what_it_says(base: str, scheme: str, ports: str) -> None:
    model, reference = panda_on(base), end(base, ports, "rkmk4", 400, False)
    # The midpoint rule is too far off to be projected at 20 ms.
    counts = (30, 60, 120) if scheme == "projected_midpoint" else (15, 30, 60)
    errors = []
    for steps in counts:
        there = end(base, ports, scheme, steps, True)
        apart = model.difference(reference.q, there.q)
        errors.append(np.linalg.norm(np.concatenate([apart, reference.z - there.z])))
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    order = 2 if scheme in ("projected_midpoint", "discrete_gradient") else 4
    assert order - 0.3 < slope < order + 1.0


@dataclass(frozen=True)
class Moving:
    """What Pinocchio makes of a configuration and a velocity, and of nothing else."""

    kinetic: float
    potential: float
    internal: float  # kinetic energy seen from the centre of mass
    centre: np.ndarray
    momentum: np.ndarray  # about the inertial origin


def motions(form: DecoupledForm, x: PHState, ports: Ports, scheme: str, dt: float, steps: int):  # type: ignore[no-untyped-def]
    """Yield time and motion a hundred times in a compiled run in which no step fails."""
    stepper = make_stepper(scheme, form, ports.gravity, native=True)
    model = form.model.pinocchio
    data = model.createData()
    k = {0: 0, 3: 2, 6: 3}[form.model.b]
    solver_state, done = stepper.begin(x, 0.0), 0
    for sample in range(101):
        while done < sample * steps // 100:
            ahead = stepper.multi_step(
                solver_state, ports, 0.0, dt, done, sample * steps // 100 - done
            )
            solver_state, done = ahead.solver_state, done + ahead.steps
        q, v = stepper.motion(solver_state)
        kinetic = pin.computeKineticEnergy(model, data, q, v)
        potential = pin.computePotentialEnergy(model, data, q)
        pin.computeCentroidalMomentum(model, data, q, v)
        centre, linear = np.array(data.com[0]), np.array(data.hg.linear)
        momentum = np.concatenate([linear, data.hg.angular + np.cross(centre, linear)])
        around = v.copy()
        turn = np.array(data.oMi[1].rotation)
        around[:k] -= (turn.T @ linear)[:k] / form.model.total_mass
        internal = pin.computeKineticEnergy(model, data, q, around)
        yield done * dt, Moving(kinetic, potential, internal, centre, momentum)


@pytest.mark.parametrize("steps", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("scheme", EXACT)
def test_a_free_floating_arm_keeps_energy_and_momentum_over_many_steps(
    scheme: str, dt: float, steps: int
) -> None:
    form, x = centred(panda_on("floating", (0.0, 0.0, 0.0)))
    seen = [now for _, now in motions(form, x, SPACE, scheme, dt, steps)]
    energy = np.array([abs(s.kinetic / seen[0].kinetic - 1) for s in seen])
    momentum = np.array([np.abs(s.momentum - seen[0].momentum).max() for s in seen])
    print(f"{scheme} dt={dt:g}: energy {energy.max():.1e}, momentum {momentum.max():.1e}")
    closed = scheme.startswith("projected")
    assert energy.max() < (1e-13 if closed else {1e-3: 1e-11, 1e-2: 1e-10}[dt])
    assert momentum.max() < 1e-11
    # Without growth: the second half is on the mean no worse than the first, but for rounding. The
    # largest of either half is a matter of which postures, with which condition, were looked at.
    # From one run to the next, whose sums are in another order, the halves change by 3e-15.
    assert energy[50:].mean() < energy[:50].mean() + 1e-14
    assert momentum[50:].mean() < momentum[:50].mean() + 1e-14


@pytest.mark.parametrize("steps", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scheme", EXACT)
def test_a_fixed_arm_under_gravity_keeps_its_energy_over_many_steps(
    scheme: str, steps: int
) -> None:
    form, x = moving(panda_on("fixed"))
    seen = [now for _, now in motions(form, x, Ports(), scheme, 1e-3, steps)]
    energy = np.array([s.kinetic + s.potential for s in seen])
    largest = max(s.kinetic for s in seen) + abs(seen[0].potential)
    print(f"{scheme}: {np.ptp(energy) / largest:.1e}")
    assert np.ptp(energy) < (1e-13 if scheme.startswith("projected") else 1e-11) * largest


@pytest.mark.parametrize("scheme", COMPILED)
def test_hovering_costs_no_failing_step_late_in_a_long_run(scheme: str) -> None:
    hover_late(scheme, native=True)


# The shorter step is taken in the campaign.
@pytest.mark.parametrize("dt", [4e-3, pytest.param(1e-3, marks=pytest.mark.slow)])
def test_a_base_comes_to_rest_while_its_shape_stands_still_in_cpp_too(dt: float) -> None:
    brake_to_rest("projected_rk4", dt, native=True)


@pytest.mark.parametrize("scheme", EXACT)
@pytest.mark.parametrize("base", ["planar", "floating"])
def test_a_falling_robot_keeps_its_parabola_and_its_internal_energy(base: str, scheme: str) -> None:
    # Within the plane for the planar base: what pulls across it acts on the joints.
    gravity = np.array([1.0, -2.0, 0.0 if base == "planar" else -9.0])
    form, x = moving(panda_on(base, tuple(gravity)))
    free = 2 if base == "planar" else 3
    first = None
    for t, now in motions(form, x, Ports(), scheme, 1e-3, 5_000):
        first = first or now
        drift = first.momentum[:3] / form.model.total_mass
        straight = (first.centre + t * drift + 0.5 * t**2 * gravity)[:free]
        # Relative to the kilometres that the robot falls.
        apart = np.abs(now.centre[:free] - straight).max() / max(1.0, np.abs(straight).max())
        assert apart < 1e-12
        limit = 1e-13 if scheme.startswith("projected") else 1e-11
        assert abs(now.internal / first.internal - 1) < limit


def test_a_step_that_is_too_long_is_reported_and_halved_as_in_python() -> None:
    form, x = moving(panda_on("floating"))
    stiff = Ports(friction=Friction(STRENGTH, 0 * STRENGTH))
    one, other = both(form, x, stiff, dt=2e-2, steps=6)
    assert one.failures
    assert [(f.t, f.dt) for f in one.failures] == [(f.t, f.dt) for f in other.failures]
    assert "too much for the" in one.failures[0].reason
    np.testing.assert_allclose(one.q, other.q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scheme", COMPILED)
def test_a_step_that_cannot_succeed_ends_in_a_sentence(scheme: str) -> None:
    form, x = moving(panda_on("fixed"))
    with pytest.raises(IntegrationError, match="fails even at dt"):
        integrate(form, x, Ports(np.full(7, 1e200)), dt=1e-2, steps=5, scheme=scheme, native=True)
    wrong = {"torque must have shape .7,.": np.ones(3), "finite": np.full(7, np.nan)}
    for sentence, torque in wrong.items():
        with pytest.raises(StateError, match=sentence):
            integrate(form, x, Ports(torque), dt=1e-2, steps=5, scheme=scheme, native=True)


def test_events_are_found_in_a_compiled_run() -> None:
    form, x = moving(panda_on("floating"))
    crossing = Event("elbow", lambda t, x: x.q[10] + 0.85, terminal=True)
    one, other = both(form, x, Ports(), dt=1e-2, steps=100, events=[crossing])
    assert [e.event for e in one.events] == ["elbow"]
    np.testing.assert_allclose(one.events[0].t, other.events[0].t, rtol=1e-12)


def test_who_insists_on_a_compiled_scheme_is_told_why_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    form, x = moving(panda_on("fixed"))
    with pytest.raises(ModelError, match="no compiled 'rk4', only projected_rk4"):
        integrate(form, x, dt=1e-3, steps=1, scheme="rk4", native=True)
    monkeypatch.setattr(choice, "native_module", lambda: None)
    with pytest.raises(ModelError, match=r"not installed .*\./vms native builds"):
        integrate(form, x, dt=1e-3, steps=1, native=True)
    assert not integrate(form, x, dt=1e-3, steps=1).failures


def test_the_simulator_moves_its_robot_the_same_way_in_both_languages() -> None:
    model = robots.load("satellite_panda")
    ends = []
    for native in (None, False):
        simulation = Simulation(
            StandardForm(model),
            model.neutral_configuration(),
            1e-3,
            engine=FormEngine(native=native),
        )
        simulation.advance(1, Ports(np.ones(model.n), None, np.r_[1.0, np.zeros(5)]))
        push = Ports(None, None, np.r_[1.0, np.zeros(5)])
        simulation.advance(40, in_world_axes(model, push))
        simulation.advance(40, Ports())
        sample = simulation.sample()
        ends.append(np.concatenate([sample.q, sample.v, list(sample.port_energy.values())]))
    assert np.abs(ends[0]).max() > 0.0
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-12)


def test_gravity_cannot_be_switched_within_a_compiled_run() -> None:
    form, x = moving(panda_on("fixed"))
    stepper = make_stepper("projected_rk4", form, native=True)
    with pytest.raises(StateError, match="gravity must stay"):
        stepper.step(stepper.begin(x, 0.0), SPACE, 0.0, 1e-3)


def test_rotors_on_the_joints_take_part_in_the_energy(native: ModuleType) -> None:
    arm = panda_on("floating", (0.0, 0.0, 0.0)).pinocchio.copy()
    armature = np.zeros(arm.nv)
    armature[6:] = 0.1
    arm.armature = armature
    form, x = centred(VMSModel.from_pinocchio(arm, "panda_link8"))
    for scheme in COMPILED:
        one, other = both(form, x, SPACE, dt=1e-3, steps=50, scheme=scheme)
        assert_same(one, other)
        np.testing.assert_allclose(one.energy, one.energy[0], rtol=1e-13)
