# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on wheels: constraints, reduced equations, energy, and an independent formulation."""

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, OptionError, StateError, integrate
from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import PHState, Ports
from vms_ph_dynamics.nonholonomic import NonholonomicForm, WheelConstraint
from vms_ph_dynamics.nonholonomic.form import _pivot_rows
from vms_ph_dynamics.tasks import DistanceTask, PositionTask
from vms_ph_io import robots

from .carts import RADIUS, Axle, bicycle, differential_drive, mecanum_cart, swinging_fork

MAKERS = {"differential": differential_drive, "bicycle": bicycle, "mecanum": mecanum_cart}


@pytest.fixture(scope="module", params=list(MAKERS))
def form(request: pytest.FixtureRequest) -> NonholonomicForm:
    return MAKERS[request.param]()


@pytest.fixture(scope="module")
def drive() -> NonholonomicForm:
    return differential_drive()


def _moving(form: NonholonomicForm, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    q = form.model.random_configuration(rng)
    at_rest = form.model.evaluate(q, np.zeros(form.model.nv))
    return q, form.basis(at_rest) @ rng.normal(size=form.dimension)


def _efforts(form: NonholonomicForm, seed: int) -> Ports:
    rng, model = np.random.default_rng(seed), form.model
    return Ports(
        torque=rng.normal(size=model.n),
        wrench_base=rng.normal(size=3),
        wrench_end_effector=rng.normal(size=6),
    )


def test_wheels_take_as_many_motions_as_they_should() -> None:
    # Of 3 + 4, 3 + 5 and 3 + 6 velocities; the arm has two joints.
    assert differential_drive().dimension == 2 + 2
    assert bicycle().dimension == 1 + 1 + 2
    assert mecanum_cart().dimension == 3 + 2


def test_a_differential_drive_moves_as_its_wheels_say(drive: NonholonomicForm) -> None:
    model = drive.model
    left, right = (3 + model.joint_index(name) for name in ("left", "right"))
    q, _ = _moving(drive, 1)
    basis = drive.basis(model.evaluate(q, np.zeros(model.nv)))
    v = basis @ np.ones(drive.dimension)
    # Wheels turn about +y: forwards for positive rates. The axle passes through the base's origin.
    assert v[0] == pytest.approx(RADIUS * (v[left] + v[right]) / 2)
    assert v[1] == pytest.approx(0.0, abs=1e-15)
    assert v[2] == pytest.approx(RADIUS * (v[right] - v[left]) / 0.6, abs=1e-15)


def test_a_mecanum_cart_drives_sideways() -> None:
    form = mecanum_cart()
    model = form.model
    d = model.evaluate(model.neutral_configuration(), np.zeros(model.nv))
    v = np.zeros(model.nv)
    v[1] = 0.2
    for name, sign in (("fl", -1), ("fr", 1), ("bl", 1), ("br", -1)):
        v[3 + model.joint_index(name)] = sign * v[1] / RADIUS
    assert np.abs(form.constraint_jacobian(d) @ v).max() < 1e-12


def test_points_of_contact_of_plain_wheels_are_at_rest(form: NonholonomicForm) -> None:
    q, v = _moving(form, 2)
    model = form.model
    d = model.evaluate(q, v)
    checked = 0
    for constraint in form.constraints:
        assert isinstance(constraint, WheelConstraint)
        if constraint.dimension == 1:
            continue
        h = 1e-6
        ahead = model.evaluate(model.integrate(q, h * v), v)
        # By differences of the centre, and the spin about the axis of the joint.
        link = f"{constraint.wheel}_link"
        centre = (ahead.placement(link) - d.placement(link))[:3, 3] / h
        turned = ahead.placement(link)[:3, :3] @ d.placement(link)[:3, :3].T
        spin = np.array([turned[2, 1], turned[0, 2], turned[1, 0]]) / h
        contact = centre + np.cross(spin, [0.0, 0.0, -RADIUS])
        assert np.abs(contact[:2]).max() < 1e-5
        checked += 1
    assert checked or form.model.name == "mecanum"


def test_rate_of_the_basis_is_its_derivative(form: NonholonomicForm) -> None:
    q, v = _moving(form, 3)
    model, h = form.model, 1e-6

    def basis(s: float) -> Array:
        return form.basis(model.evaluate(model.integrate(q, s * v), np.zeros(model.nv)))

    rate = form.rate_of_basis(model.evaluate(q, v), basis(0.0))
    assert np.abs(rate - (basis(h) - basis(-h)) / (2 * h)).max() < 1e-8


def test_reduced_mass_rate_is_the_coriolis_matrix_and_its_transpose(form: NonholonomicForm) -> None:
    q, v = _moving(form, 4)
    t = form.terms(q, v[form.independent_ids])
    assert np.abs(t.mass_rate - t.coriolis - t.coriolis.T).max() < 1e-12 * np.abs(t.mass).max()


def test_power_balance_closes_and_wheels_do_no_work(form: NonholonomicForm) -> None:
    q, v = _moving(form, 5)
    ports = _efforts(form, 6)
    balance = form.power_balance(form.state(q, v), ports)
    assert abs(balance.residual) < 1e-12 * max(1.0, sum(map(abs, balance.supplied.values())))
    assert sum(map(abs, balance.supplied.values())) > 0.1
    t = form.terms(q, v[form.independent_ids])
    force = t.constraint_force(ports.force(t.d))
    assert abs(float(force @ t.d.v)) < 1e-11 * np.abs(force).max()
    # It lies in the range of the constraints.
    rows = form.constraint_jacobian(t.d)
    assert (
        np.abs(force - rows.T @ np.linalg.pinv(rows.T) @ force).max() < 1e-10 * np.abs(force).max()
    )


def test_rate_is_that_of_the_dirac_structure_restricted_to_the_wheels(
    form: NonholonomicForm,
) -> None:
    q, v = _moving(form, 15)
    x, ports = form.state(q, v), _efforts(form, 16)
    structure = form.interconnection(x)
    assert np.abs(structure + structure.T).max() == 0.0
    rate = structure @ form.gradient(x)
    rate += form.input_map(x) @ ports.force(form.model.evaluate(q, v))
    found = form.rate(x, ports)
    scale = np.abs(np.concatenate(found)).max()
    assert np.abs(rate - np.concatenate(found)).max() < 1e-12 * scale


def test_gradient_and_gravity_are_the_derivative_of_the_energy(form: NonholonomicForm) -> None:
    q, v = _moving(form, 17)
    x, model, h = form.state(q, v), form.model, 1e-5
    slopes = [
        np.diff(
            [form.hamiltonian(PHState(model.integrate(q, s * unit), x.z)).total for s in (-h, h)]
        )[0]
        / (2 * h)
        for unit in np.eye(model.nv)
    ]
    by_q = form.gradient(x)[: model.nv] + model.evaluate(q, v).g
    assert np.abs(by_q - slopes).max() < 1e-7 * np.abs(x.z).max()


def _with_multipliers(form: NonholonomicForm, q: Array, v: Array, ports: Ports) -> Array:
    """Return vdot with the constraints as multipliers: the index-reduced equations."""
    d = form.model.evaluate(q, v)
    rows = form.constraint_jacobian(d)
    h = 1e-5
    ahead, behind = (
        form.constraint_jacobian(form.model.evaluate(form.model.integrate(q, s * v), v))
        for s in (h, -h)
    )
    k = len(rows)
    matrix = np.block([[d.M, -rows.T], [rows, np.zeros((k, k))]])
    right = np.concatenate([ports.force(d) - d.C @ v, -(ahead - behind) @ v / (2 * h)])
    return np.linalg.solve(matrix, right)[: form.model.nv]


def _integrated_with_multipliers(
    form: NonholonomicForm, q: Array, v: Array, ports: Ports, dt: float, steps: int
) -> tuple[Array, Array]:
    """Integrate the equations with multipliers by another scheme: Heun's, extrapolated twice."""

    def run(parts: int) -> tuple[Array, Array]:
        x, w, h = q, v, dt / parts
        for _ in range(parts * steps):
            a = _with_multipliers(form, x, w, ports)
            half = form.model.integrate(x, 0.5 * h * w)
            middle = w + 0.5 * h * a
            b = _with_multipliers(form, half, middle, ports)
            x, w = form.model.integrate(x, h * middle), w + h * b
        return x, w

    coarse, fine = run(1), run(2)
    return tuple((4.0 * f - c) / 3.0 for f, c in zip(fine, coarse, strict=True))  # type: ignore[return-value]


def test_motion_is_that_of_the_equations_with_multipliers(form: NonholonomicForm) -> None:
    q, v = _moving(form, 7)
    v, ports = 0.3 * v, _efforts(form, 8)
    dt, steps = 1e-3, 20
    run = integrate(form, form.state(q, v), ports, dt=dt, steps=steps)
    end = run.states[-1]
    reached = form.velocity(end)
    other_q, other_v = _integrated_with_multipliers(form, q, v, ports, dt, steps)
    assert (
        np.abs(form.model.difference(end.q, form.model.normalise_configuration(other_q))).max()
        < 1e-8
    )
    assert np.abs(reached - other_v).max() < 1e-7 * max(1.0, np.abs(reached).max())


def _run(form: NonholonomicForm, steps: int) -> tuple[float, float]:
    """Return the largest violation of the constraints and of the balance, over a run."""
    q, v = _moving(form, 9)
    rng = np.random.default_rng(10)
    amplitudes = rng.normal(size=form.model.n)
    friction = Friction(0.05 * np.ones(form.model.n), np.zeros(form.model.n))

    def ports(t: float, x: PHState) -> Ports:
        return Ports(torque=amplitudes * np.cos(3.0 * t), friction=friction)

    run = integrate(form, form.state(q, 0.2 * v), ports, dt=1e-3, steps=steps)
    worst = 0.0
    for x in run.states[:: max(1, steps // 50)]:
        w = form.velocity(x)
        rows = form.constraint_jacobian(form.model.evaluate(x.q, w))
        worst = max(worst, float(np.abs(rows @ w).max() / max(1.0, np.abs(w).max())))
    audit = run.audit
    supplied = np.sum([np.asarray(e) for e in audit.supplied.values()], axis=0)
    drift = np.abs(np.cumsum(audit.stored - supplied + audit.dissipated)).max()
    exchanged = np.abs(supplied).sum() + np.abs(audit.dissipated).sum()
    return worst, float(drift / exchanged)


def test_constraints_and_energy_hold_over_a_run(form: NonholonomicForm) -> None:
    constraint, energy = _run(form, 60)
    assert constraint < 1e-12
    assert energy < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MAKERS))
def test_constraints_and_energy_hold_over_100000_steps(name: str) -> None:
    constraint, energy = _run(MAKERS[name](), 100_000)
    assert constraint < 1e-12
    assert energy < 1e-6


def test_a_long_step_without_efforts_keeps_the_kinetic_energy(drive: NonholonomicForm) -> None:
    q, v = _moving(drive, 6)
    x = PHState(q, drive.momentum(q, v))
    run = integrate(drive, x, Ports(gravity=False), dt=0.05, steps=4)
    energies = [
        drive.model.evaluate(state.q, drive.velocity(state)).kinetic_energy for state in run.states
    ]
    np.testing.assert_allclose(energies, energies[0], rtol=1e-13)


def test_rows_that_repeat_others_are_no_pivots(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(3, 4)) * [[1.0], [0.5], [0.1]]
    chosen = _pivot_rows(np.vstack([rows, rows[:2], rows[0] + rows[1]]), 3)
    assert np.linalg.matrix_rank(np.vstack([rows, rows[:2], rows[0] + rows[1]])[chosen]) == 3


def test_the_scheme_is_of_fourth_order(drive: NonholonomicForm) -> None:
    q, v = _moving(drive, 11)
    x, ports = drive.state(q, v), _efforts(drive, 12)
    ends = [
        integrate(drive, x, ports, dt=0.04 / parts, steps=parts, stride=parts).states[-1]
        for parts in (4, 8, 32)
    ]
    errors = [np.abs(drive.velocity(e) - drive.velocity(ends[2])).max() for e in ends[:2]]
    assert 3.6 < np.log2(errors[0] / errors[1]) < 4.6


def test_axles_constrain_bases_without_wheels() -> None:
    model = robots.load("omnidirectional_panda")
    form = NonholonomicForm(model, [Axle(model, "base_link")])
    assert form.dimension == model.nv - 1
    q, v = _moving(form, 13)
    assert v[1] == pytest.approx(0.0, abs=1e-15)
    assert abs(form.power_balance(form.state(q, v), Ports()).residual) < 1e-10


def test_what_cannot_be_is_refused_in_words(drive: NonholonomicForm) -> None:
    model = drive.model
    with pytest.raises(ModelError, match="fixed base"):
        WheelConstraint(robots.load("panda"), "panda_joint1", 0.1)
    with pytest.raises(ModelError, match="its joints are"):
        WheelConstraint(model, "middle", 0.1)
    with pytest.raises(ModelError, match="radius"):
        WheelConstraint(model, "left", 0.0)
    with pytest.raises(ModelError, match="parallel to the plane"):
        WheelConstraint(model, "shoulder", 0.1)
    with pytest.raises(ModelError, match="at least one"):
        NonholonomicForm(model, [])
    q, v = _moving(drive, 14)
    with pytest.raises(StateError, match="violates a constraint"):
        drive.state(q, v + np.eye(model.nv)[1])
    with pytest.raises(OptionError, match="projected_rk4"):
        integrate(drive, drive.state(q, v), dt=1e-3, steps=1, scheme="variational")


def test_a_posture_whose_independent_velocities_determine_nothing_is_said() -> None:
    model = differential_drive().model
    form = NonholonomicForm(model, [Axle(model, "fore", axis=0)])
    (dependent,) = set(range(model.nv)) - set(form.independent_ids)

    def coefficient(angle: float) -> float:
        q = model.configuration({"shoulder": angle})
        return float(form.constraint_jacobian(model.evaluate(q, np.zeros(model.nv)))[0, dependent])

    low, high = 0.0, np.pi
    assert coefficient(low) * coefficient(high) < 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if coefficient(low) * coefficient(middle) > 0 else (low, middle)
    q = model.configuration({"shoulder": low})
    with pytest.raises(StateError, match="do not determine"):
        form.basis(model.evaluate(q, np.zeros(model.nv)))


def test_velocities_of_a_floating_base_have_names_where_they_determine_nothing() -> None:
    model = robots.load("satellite_panda")
    form = NonholonomicForm(model, [DistanceTask(model)])
    q = model.home.copy()
    q[:3] -= model.placement(model.end_effector, q)[:3, 3]  # a distance of zero has no direction
    names = "base roll, base pitch, base yaw, panda_joint1, .*, panda_joint7 do not determine"
    with pytest.raises(StateError, match=names):
        form.basis(model.evaluate(q, np.zeros(model.nv)))


def test_constraints_that_allow_every_motion_are_refused() -> None:
    panda = robots.load("panda")
    with pytest.raises(ModelError, match="the constraints allow every motion of the robot"):
        NonholonomicForm(panda, [DistanceTask(panda, "panda_link0", to=(1.0, 0.0, 0.0))])


def test_an_arm_on_a_fixed_base_moves_as_a_constraint_allows() -> None:
    panda = robots.load("panda")
    task = PositionTask(panda)
    form = NonholonomicForm(panda, [task])
    at_rest = panda.evaluate(panda.home, np.zeros(panda.nv))
    v = form.basis(at_rest) @ np.full(form.dimension, 0.3)
    run = integrate(form, form.state(panda.home, v), dt=1e-3, steps=100)
    end = panda.evaluate(run.states[-1].q, np.zeros(panda.nv))
    assert np.abs(panda.difference(panda.home, end.q)).max() > 1e-2
    # The positions have the error of the scheme, the balance that of rounding.
    assert np.abs(task.value(end) - task.value(at_rest)).max() < 1e-8
    assert np.abs(np.cumsum(run.audit.residual)).max() < 1e-12


def test_a_fork_passes_a_quarter_turn_as_the_equations_with_multipliers_say() -> None:
    form = MAKERS["bicycle"]()
    model, (q, v, ports) = form.model, swinging_fork(form)
    run = integrate(form, form.state(q, v), ports, dt=4e-3, steps=100)
    angles = [float(model.joint_positions(x.q)[model.joint_index("steer")]) for x in run.states]
    assert min(angles) < 0.5 * np.pi < max(angles)
    other_q, other_v = _integrated_with_multipliers(form, q, v, ports, 2e-3, 200)
    error = model.difference(run.states[-1].q, model.normalise_configuration(other_q))
    assert np.abs(error).max() < 1e-7
    assert np.abs(run.v[-1] - other_v).max() < 1e-6
    assert np.abs(np.cumsum(run.audit.residual)).max() < 1e-12
