# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the balance of momentum finds of external forces."""

from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import RobotState
from vms_ph_controllers.observers import ImpulseBalance, MomentumObserver, NoiseModel
from vms_ph_controllers.observers.impulse_balance import ExternalWork, WorkBalance
from vms_ph_dynamics import ModelError, OptionError, VMSModel
from vms_ph_io import robots

from ..support.observed_robots import moving_arm, samples

_EXACT = NoiseModel(*[0.0] * 9)
_PUSH = np.array([5.0, -2.5, 10.0, 0.5, 1.0, -0.5])


def _home(name: str) -> tuple[VMSModel, np.ndarray]:
    model = robots.load(name)
    return model, model.configuration(robots.get(name).home)


def _errors(name: str, coordinates: Any, dt: float) -> tuple[float, float]:
    """Return the largest error of the mean force of a sample, and its stated bound, N or N m."""
    model, q = _home(name)
    balance = ImpulseBalance(model, _EXACT, coordinates)
    assert balance.add(RobotState(q, np.zeros(model.nv)), np.zeros(model.nv), dt) is None

    def pushed(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return model.evaluate(q, v).J_end_effector.T @ _PUSH

    def force(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        d = model.evaluate(q, v)
        return balance.force_map(d, d.J_end_effector) @ _PUSH

    error, bound, last = 0.0, 0.0, force(q, np.zeros(model.nv))
    halves = samples(model, q, moving_arm(model, q), pushed, dt / 2.0, 2 * round(0.2 / dt), fine=2)
    for first, second in zip(halves, halves, strict=True):
        effort = 0.5 * (first.effort + second.effort)
        found = balance.add(RobotState(second.q, second.v), effort, dt)
        assert found is not None
        middle, now = force(first.q, first.v), force(second.q, second.v)
        mean = (last + 4.0 * middle + now) / 6.0
        error = max(error, float(np.abs(found.value / dt - mean).max()))
        bound = max(bound, float(found.slow_error.max()) / dt)
        last = now
    return error, bound


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda"])
@pytest.mark.parametrize("coordinates", ["standard", "decoupled"])
def test_the_error_is_of_second_order_in_the_sample_and_of_the_stated_size(
    name: str, coordinates: str
) -> None:
    coarse, bound = _errors(name, coordinates, 0.01)
    fine, _ = _errors(name, coordinates, 0.005)
    assert 3.0 < coarse / fine < 5.0
    assert 0.5 * coarse < bound < 2.0 * coarse
    assert coarse < 0.05


def test_a_moving_arm_is_not_taken_for_a_force_on_the_base() -> None:
    model, q = _home("hextilt")
    balance, b = ImpulseBalance(model, _EXACT, "decoupled"), model.b
    observer = MomentumObserver(model, 30.0)
    rigid, last, dt = 0.0, np.zeros(b), 2e-3
    largest = 0.0

    def none(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(model.nv)

    for moment in samples(model, q, moving_arm(model, q), none, dt, 100):
        found = balance.add(RobotState(moment.q, moment.v), moment.effort, dt)
        if found is None:
            continue
        largest = max(largest, float(np.abs(observer.add(found).value[:b]).max()))
        # What an observer would see that takes the robot for a rigid body.
        locked = found.d.M_b @ found.d.v[:b]
        rigid = max(rigid, float(np.abs((locked - last) / dt + found.d.g[:b]).max()))
        rigid = rigid if last.any() else 0.0
        last = locked
    assert largest < 1e-3
    assert rigid > 1.0


@pytest.mark.parametrize("delay", [1, 3])
def test_efforts_older_than_the_states_are_seen_as_what_they_changed_and_no_more(
    delay: int,
) -> None:
    model, q = _home("panda")
    balance, dt = ImpulseBalance(model, _EXACT), 4e-3
    observer, sent, largest, changed = MomentumObserver(model, 30.0), [], 0.0, 0.0
    none = np.zeros(7)
    for moment in samples(model, q, moving_arm(model, q), lambda t, q, v: none, dt, 60, fine=2):
        sent.append(moment.effort)
        if len(sent) <= delay:
            continue
        late = sent[-1 - delay]
        found = balance.add(RobotState(moment.q, moment.v), late, dt)
        if found is not None:
            changed = max(changed, float(np.abs(sent[-1] - late).max()))
            largest = max(largest, float(np.abs(observer.add(found).value).max()))
    assert 0.1 * changed < largest < 1.1 * changed


def test_noise_of_the_base_does_not_enter_the_decoupled_joint_rows() -> None:
    model, q = _home("hextilt")
    v = 0.3 * np.ones(model.nv)
    wrong = v.copy()
    wrong[: model.b] += 0.05
    largest = {}
    for coordinates in ("standard", "decoupled"):
        rows = []
        for after in (v, wrong):
            balance = ImpulseBalance(model, _EXACT, coordinates)  # type: ignore[arg-type]
            balance.add(RobotState(q, v), np.zeros(model.nv), 1e-3)
            found = balance.add(RobotState(q, after), np.zeros(model.nv), 1e-3)
            assert found is not None
            rows.append(found.value[model.b :])
        largest[coordinates] = float(np.abs(rows[0] - rows[1]).max())
    assert largest["decoupled"] < 0.05 * largest["standard"]


@pytest.mark.usefixtures("core")
def test_the_covariance_is_that_of_repeated_observations() -> None:
    model, q = _home("panda")
    noise, rng = NoiseModel(torque_error=0.0), np.random.default_rng(3)
    weight = model.evaluate(q, np.zeros(7)).g
    dt, found = 5e-3, []
    for _ in range(200):
        balance, observer = ImpulseBalance(model, noise), MomentumObserver(model, 50.0)
        for _ in range(8):
            v = noise.velocity_deviations(model) * rng.normal(size=7)
            effort = weight + noise.effort_deviations(model) * rng.normal(size=7)
            impulse = balance.add(RobotState(q, v), effort, dt)
            if impulse is not None:
                force = observer.add(impulse)
        found.append(force.value)
    observed = np.cov(np.array(found).T)
    ratio = np.sqrt(np.diag(observed) / np.diag(force.covariance))
    assert (np.abs(ratio - 1.0) < 0.2).all()


@pytest.mark.parametrize(
    ("q", "effort", "dt"),
    [(np.nan, 0.0, 1e-3), (0.0, np.inf, 1e-3), (0.0, 0.0, 0.0), (0.0, 0.0, np.nan)],
)
def test_what_is_not_usable_begins_anew_and_raises_nothing(
    q: float, effort: float, dt: float
) -> None:
    model, home = _home("panda")
    balance, rest, still = ImpulseBalance(model), RobotState(home, np.zeros(7)), np.zeros(7)
    balance.add(rest, still, 1e-3)
    assert balance.add(RobotState(home + q, np.zeros(7)), still + effort, dt) is None
    assert balance.add(rest, np.zeros(3), 1e-3) is None
    assert balance.add(rest, still, 1e-3) is None
    assert balance.add(rest, still, 1e-3) is not None


def test_mistakes_are_reported_with_what_is_accepted() -> None:
    model, _ = _home("panda")
    with pytest.raises(OptionError, match="'standard' or 'decoupled'; given: 'hamel'"):
        ImpulseBalance(model, coordinates="hamel")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"torque of a noise model .* given: -1"):
        NoiseModel(torque=-1.0)
    with pytest.raises(OptionError, match="bandwidth must be positive"):
        MomentumObserver(model, 0.0)


@pytest.mark.parametrize("source", ["position", "velocity"])
def test_the_variance_of_a_work_is_that_of_its_slopes_by_the_noise(source: str) -> None:
    model, q = _home("panda")
    deviation, step = 1e-3, 1e-6
    noise = NoiseModel(**{**dict.fromkeys(vars(_EXACT), 0.0), source: deviation})
    # An arm that is slow, so that its energy depends on the position by the weight alone.
    v, dt = 0.01 * np.array([1.0, -2.0, 0.5, 1.0, 2.0, -1.0, 1.0]), 2e-3
    effort = np.array([3.0, -20.0, 5.0, 10.0, -2.0, 1.0, 0.5])
    states = [(model.integrate(q, k * dt * v), v) for k in range(3)]

    def work(wrong: int, error: np.ndarray) -> ExternalWork:
        balance = ImpulseBalance(model, noise)
        works = WorkBalance(balance)
        for k, (q, v) in enumerate(states):
            off = error if k == wrong else np.zeros(7)
            state = RobotState(q + off, v) if source == "position" else RobotState(q, v + off)
            impulse = balance.add(state, effort, dt)
            found = None if impulse is None else works.add(impulse)
        assert found is not None
        return found

    exact = work(-1, np.zeros(7))
    for moment, stated in ((1, exact.start_variance), (2, exact.end_variance)):
        slopes = [
            (work(moment, e).value - work(moment, -e).value) / (2.0 * step)
            for e in step * np.eye(7)
        ]
        assert stated == pytest.approx(deviation**2 * np.sum(np.square(slopes)), rel=1e-4)


def test_the_noise_of_a_robot_at_rest_bounds_the_energy_that_it_shows() -> None:
    model, q = _home("omnidirectional_panda")
    noise = NoiseModel(velocity=2e-3, base_linear=3e-3, base_angular=5e-3)
    balance, rest = ImpulseBalance(model, noise), np.zeros(model.nv)
    works = WorkBalance(balance)
    for _ in range(3):
        impulse = balance.add(RobotState(q, rest), rest, 2e-3)
        found = None if impulse is None else works.add(impulse)
    assert found is not None
    # The mean of e^T M e: each velocity's noise has an energy of its own.
    deviation = noise.velocity_deviations(model)
    energies = [model.evaluate(q, v).kinetic_energy for v in np.diag(deviation)]
    assert found.quadratic_noise == pytest.approx(2.0 * sum(energies), rel=1e-12)
    scaled = deviation[:, None] * model.evaluate(q, rest).M * deviation
    assert np.linalg.eigvalsh(scaled)[-1] <= found.quadratic_noise
