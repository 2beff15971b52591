# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy guard in C++ is that in Python: efforts, statuses, reasons and certificates."""

from dataclasses import asdict, fields, replace
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from controllers.support import unseen_motion
from controllers.support.guard_runs import adversary, run, scene

from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_dynamics import Allocation, VMSModel
from vms_ph_io import read_urdf, robots

from .arms import arm, home
from .conftest import native_model, parity_of

# Relative to the size of an effort; what a brake adds is a difference of predicted energies.
PARITY = 1e-8


def test_settings_have_the_names_defaults_bounds_and_words_of_python(native: ModuleType) -> None:
    expected = {}
    for item in fields(EnergyGuardSettings):
        is_switch = isinstance(item.default, bool)
        low, high = item.metadata["low"], item.metadata["high"]
        expected[item.name] = (
            float(item.default),
            0.0 if is_switch else low,
            1.0 if is_switch else high,
            is_switch,
            item.metadata["description"],
        )
    assert parity_of(native).energy_guard_settings == expected


CASES = [
    ("panda", {}, {}),
    ("panda", {"delay": 2}, {"refill_power": 0.5, "engagement_time": 0.02}),
    ("panda", {"effort_carries_weight": False, "delay": 1}, {"power": 20.0, "torque": 0.3}),
    ("panda", {"delay": 3}, {"speed": 0.5, "joint_speed": 1.0, "kinetic_energy": 0.4}),
    ("panda", {}, {"torque_rate": 2000.0, "joint_speed": 0.8}),
    ("omnidirectional_panda", {"delay": 1}, {"kinetic_energy": 0.2}),
    ("hextilt", {}, {}),
    ("satellite_panda", {"base_actuated": False, "delay": 1}, {}),
    ("panda with its gripper", {"delay": 1}, {}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_both_languages_send_the_same(native: ModuleType, case: int) -> None:
    name, options, settings = CASES[case]
    rng, known = np.random.default_rng(case), robots.get(name.split()[0])
    # Of its fingers one mimics the other.
    model = known.load() if " " not in name else VMSModel.from_urdf(read_urdf(known.path()))
    given = scene(model, model.configuration(known.home), rng, case, False)
    dt, rest = given.dt, np.zeros(model.nv)
    settings = {"tank_capacity": 3.0, "tank_initial": 0.05, **settings}
    ours = PortGuard(model, EnergyGuardSettings(**settings), period=dt, **options)
    theirs = parity_of(native).PortGuard(
        native_model(native, model), settings, period=dt, **options
    )
    acting = None if case % 2 else model.evaluate(given.q, rest).g + 0.1
    q, v = given.q, 0.2 * rng.uniform(-1, 1, model.nv)
    ours.engage(q, v, acting)
    assert theirs.engage(q, v, acting)
    policy, said = adversary(model, rng, dt), set()
    size = 1.0
    for k in range(48):
        wanted = policy(q, v, k)
        seen, moved = (q, v) if k % 20 != 17 else (np.full(model.nq, np.nan), v)
        if k % 20 == 5:
            wanted = np.full(model.nv, np.nan)
        if k % 20 == 11:  # a velocity that cannot be believed
            moved = v + 60.0 * np.eye(model.nv)[-1]
        if k == 30:
            assert theirs.refill(0.5) == pytest.approx(ours.refill(0.5), abs=1e-9)
        if k == 40:
            assert theirs.drain(0.1) == pytest.approx(ours.drain(0.1), abs=1e-9)
        step = dt * float(rng.choice([1.0, 1.0, 1.3, 0.0]))
        one, two = ours.update(seen, moved, wanted, step), theirs.update(seen, moved, wanted, step)
        size = max(1.0, float(np.abs(one.effort).max()))
        np.testing.assert_allclose(two.effort, one.effort, rtol=0, atol=PARITY * size)
        assert (two.status, two.reason) == (int(one.status), one.reason), (k, one, two.reason)
        assert two.level == pytest.approx(one.level, abs=PARITY * size)
        said |= {part.split(" ")[0] for part in one.reason.split("; ")}
        # The robot moves as it is driven, and is pushed now and then.
        d = model.evaluate(q, v)
        force = one.effort - (d.g if options.get("effort_carries_weight", True) else 0.0)
        a = np.linalg.solve(d.M, force - d.C @ v)
        v = np.clip(v + dt * a, -3.0, 3.0) if k % 15 else -0.7 * v
        q = model.integrate(q, dt * v)
    assert len(said) >= 3, said
    one, two = ours.certificate, theirs.certificate
    for each, value in two.items():
        assert value == pytest.approx(getattr(one, each), abs=PARITY * size), each


# Relative to the size of an effort.
PARITY_OF_ACTUATORS = 1e-10

VEHICLES = ("hextilt", "bluerov2_alpha5", "omnidirectional_panda", "borinot", "satellite_panda")


def _actuators(name: str, rng: np.random.Generator) -> tuple[Allocation, np.ndarray | None]:
    """Return the actuators of a robot, of which one may have failed, and their weights."""
    if name == "satellite_panda":  # it has none of its own: nine thrusters in random directions
        found, weights = (rng.standard_normal((6, 9)), -rng.uniform(0.2, 2, 9)), None
        allocation = Allocation.of_matrix(*found, rng.uniform(0.2, 2, 9))
    else:
        actuators = robots.get(name).own_actuators()
        allocation, weights = actuators.allocation, actuators.weights
    lower, upper = allocation.lower.copy(), allocation.upper.copy()
    if rng.random() < 0.5:
        failed = rng.integers(len(lower))
        lower[failed] = upper[failed] = 0.0
    return Allocation.of_matrix(allocation.matrix, lower, upper), weights


# Every delay up to five samples, and every vehicle.
@pytest.mark.parametrize(
    ("seed", "name"),
    [
        pytest.param(seed, name, marks=() if (seed + k) % 3 == 0 and seed < 6 else pytest.mark.slow)
        for seed in range(8)
        for k, name in enumerate(VEHICLES)
    ],
)
def test_both_languages_send_the_same_to_limited_and_failed_actuators(
    native: ModuleType, seed: int, name: str
) -> None:
    rng, known = np.random.default_rng(seed), robots.get(name)
    model = known.load()
    allocation, weights = _actuators(name, rng)
    dt = float(rng.choice([1e-3, 5e-3]))
    options: Any = {"delay": seed % 6, "period": dt, "weights": weights}
    settings = {"tank_capacity": 3.0, "tank_initial": float(rng.choice([0.0, 0.05, 2.0]))}
    ours = PortGuard(model, EnergyGuardSettings(**settings), allocation=allocation, **options)
    limits = (allocation.matrix, allocation.lower, allocation.upper)
    options["allocation"] = native.Allocation.of_matrix(*limits)
    theirs = parity_of(native).PortGuard(native_model(native, model), settings, **options)
    q, v = model.configuration(known.home), 0.3 * rng.uniform(-1, 1, model.nv)
    q = model.integrate(q, 0.3 * rng.uniform(-1, 1, model.nv))
    acting = 1e3 * rng.standard_normal(model.nv) if seed % 2 else None
    ours.engage(q, v, acting)
    assert theirs.engage(q, v, acting)
    said, size = set(), 1.0
    for k in range(20):
        wanted = model.evaluate(q, v).g
        wanted = wanted + 10.0 ** rng.uniform(-1, 4) * rng.standard_normal(model.nv)
        seen = q if k % 20 != 17 else np.full(model.nq, np.nan)
        if k % 20 == 5:
            wanted[0] = np.nan
        one, two = ours.update(seen, v, wanted, dt), theirs.update(seen, v, wanted, dt)
        # What is granted is a small share of what was wanted, now and in samples before.
        largest = max(float(np.abs(one.effort).max()), 1e-3 * float(np.nanmax(np.abs(wanted))))
        size = max(size, largest)
        np.testing.assert_allclose(two.effort, one.effort, rtol=0, atol=PARITY_OF_ACTUATORS * size)
        assert (two.status, two.reason) == (int(one.status), one.reason), (k, one, two.reason)
        assert two.level == pytest.approx(one.level, abs=PARITY_OF_ACTUATORS * size)
        said |= {part.split(" ")[0] for part in one.reason.split("; ")}
        d = model.evaluate(q, v)
        v = np.clip(v + dt * np.linalg.solve(d.M, one.effort - d.C @ v - d.g), -1.0, 1.0)
        q = model.integrate(q, dt * v)
    assert {"base", "reflex:"} <= said, said


def test_actuators_of_another_base_are_refused(native: ModuleType) -> None:
    hextilt = native_model(native, robots.load("hextilt"))
    planar = native.Allocation.of_matrix(np.ones((3, 4)), -np.ones(4), np.ones(4))
    rotors = robots.get("hextilt").own_actuators().allocation
    own = native.Allocation.of_matrix(rotors.matrix, rotors.lower, rotors.upper)
    with pytest.raises(ValueError, match="wrenches of 3 components"):
        parity_of(native).PortGuard(hextilt, allocation=planar)
    with pytest.raises(ValueError, match="above zero"):
        parity_of(native).PortGuard(hextilt, allocation=own, weights=-np.ones(6))
    with pytest.raises(ValueError, match="have other limits left"):
        parity_of(native).PortGuard(hextilt, allocation=own, effort_carries_weight=False)


def test_a_robot_or_option_that_does_not_fit_is_refused(native: ModuleType) -> None:
    panda = native_model(native, robots.load("panda"))
    wrong: list[dict[str, Any]] = [{"delay": 6}, {"period": 0.0}, {"settings": {"torque": 2.0}}]
    for each in wrong:
        with pytest.raises(ValueError, match=r"must be|no setting"):
            parity_of(native).PortGuard(panda, **each)
    guard = parity_of(native).PortGuard(panda)
    assert not guard.engage(np.zeros(3), np.zeros(7))
    held = guard.hold("the state is old", 1e-3)
    assert held.reason.startswith("reflex: the state is old")


class Compiled:
    """The guard in C++ with the interface of that in Python, as far as runs use it."""

    def __init__(
        self, native: ModuleType, model: VMSModel, settings: EnergyGuardSettings, *rest: Any
    ) -> None:
        delay, period = rest
        self._model = native_model(native, model)
        given = {key: float(value) for key, value in asdict(settings).items()}
        self._guard = parity_of(native).PortGuard(self._model, given, delay=delay, period=period)
        self.engage, self.update = self._guard.engage, self._guard.update

    @property
    def level(self) -> float:
        return float(self._guard.certificate["level"])

    @property
    def certificate(self) -> SimpleNamespace:
        return SimpleNamespace(**self._guard.certificate)


@pytest.mark.parametrize(
    ("count", "samples"),
    [(6, 20), pytest.param(10_000, 0, marks=(pytest.mark.slow, pytest.mark.timeout(24 * 3600)))],
)
def test_behind_the_guard_in_cpp_an_adversary_takes_no_more_than_the_budget_and_the_unseen_work(
    native: ModuleType, count: int, samples: int
) -> None:
    models = {name: robots.load(name) for name in ("panda", "omnidirectional_panda")}
    for seed in range(50_000, 50_000 + count):
        name = "omnidirectional_panda" if seed % 3 == 2 else "panda"
        home = models[name].configuration(robots.get(name).home)
        rng = np.random.default_rng(seed)
        given = scene(models[name], home, rng, seed, True)
        given.samples = samples or given.samples
        policy = adversary(given.model, rng, given.dt)
        found = run(given, policy, make=lambda *rest: Compiled(native, *rest))
        assert found.beyond <= 1e-9, found


LONG = (pytest.mark.slow, pytest.mark.timeout(24 * 3600))


def _unseen(native: ModuleType, model: VMSModel, a: unseen_motion.Adversary) -> float:
    """Return the excess of an adversary as a share of its bound; check it and the certificate."""
    home = model.neutral_configuration()
    found = unseen_motion.run(model, home, a, lambda *rest: Compiled(native, *rest))
    assert not found.is_wrong, (a, found)
    # Of the energy that the motion may have when the tank is empty.
    share = (found.excess - found.certificate.lent) / (found.kinetic + a.budget)
    assert found.certificate.lost or share <= unseen_motion.LARGEST_SHARE + 1e-9, (a, found)
    return float(share)


@cache
def _robot(is_arm: bool) -> VMSModel:
    return robots.load("panda").without_gravity() if is_arm else unseen_motion.cart()


@pytest.mark.parametrize("count", [24, pytest.param(10_000, marks=LONG)])
def test_no_certificate_in_cpp_says_less_than_was_given_where_contacts_move_a_robot_unseen(
    native: ModuleType, count: int
) -> None:
    for seed in range(count):
        rng, model = np.random.default_rng(seed), _robot(seed % 8 == 7)
        a = unseen_motion.random_adversary(rng, is_lossy=seed % 3 > 0)
        a = replace(a, period=0.0 if model.nv > 1 else a.period)
        _unseen(native, model, a)


@pytest.mark.parametrize("count", [1, pytest.param(200, marks=LONG)])
def test_a_search_finds_no_unseen_motion_beyond_the_bound(native: ModuleType, count: int) -> None:
    shares = []
    for seed in range(count):
        rng, model = np.random.default_rng(seed), _robot(seed % 8 == 7)
        best = unseen_motion.random_adversary(rng, False)
        best = replace(best, period=0.0 if model.nv > 1 else best.period)
        share, step = _unseen(native, model, best), 1.0
        for _ in range(30 if count > 1 else 8):
            children = [unseen_motion.mutated(best, rng, step) for _ in range(4)]
            each = [_unseen(native, model, child) for child in children]
            k = int(np.argmax(each))
            step *= 1.3 if each[k] > share else 0.7
            if each[k] > share:
                best, share = children[k], each[k]
        shares.append(share)
    print(f"{count} searches: at most {max(shares):.3f} of the energy of the motion")


# What a broken sender puts into messages.
GARBAGE = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.0, 5.0)


@pytest.mark.parametrize("name", ["ur5", "kinova"])
def test_garbage_lost_messages_and_settings_at_their_bounds_give_finite_efforts_within_the_limits(
    native: ModuleType, name: str
) -> None:
    model, q0 = arm(name), home(name)
    most = model.joints.effort
    rng = np.random.default_rng(5)
    for run_ in range(4):
        settings: dict[str, Any] = {}
        for item in fields(EnergyGuardSettings):
            low, high = item.metadata["low"], item.metadata["high"]
            if isinstance(item.default, bool):
                settings[item.name] = bool(rng.random() < 0.2)
            elif run_:  # the first run is that of the defaults
                settings[item.name] = float(rng.choice([item.default, low, high, 1e-300]))
        dt = float(rng.choice([0.02, 0.001]))
        options: Any = {"delay": int(rng.integers(0, 4)), "period": dt}
        plain = PortGuard(model, EnergyGuardSettings(**settings), **options)
        given = {key: float(value) for key, value in settings.items()}
        core = parity_of(native).PortGuard(native_model(native, model), given, **options)
        q, v = q0, np.zeros(model.nv)
        plain.engage(q, v)
        assert core.engage(q, v)
        for _ in range(40):
            d = model.evaluate(q, v)
            wanted, seen, moved, step = d.g + 50.0 * rng.normal(size=model.nv), q, v, dt
            fault = rng.choice(["", "", "", "effort", "size", "q", "v", "dt", "lost", "budget"])
            if fault == "effort":
                wanted[rng.integers(model.nv)] = rng.choice(GARBAGE)
            elif fault == "size":
                wanted = np.zeros(model.nv + 1)
            elif fault in ("q", "v"):
                wrong = (q if fault == "q" else v).copy()
                wrong[rng.integers(len(wrong))] = rng.choice(GARBAGE)
                seen, moved = (wrong, v) if fault == "q" else (q, wrong)
            elif fault == "dt":
                step = float(rng.choice([np.nan, -1.0, 0.0, 1e9, 1e-12, np.inf]))
            for guard in (plain, core):
                if fault == "budget":
                    for energy in (*GARBAGE, -5.0):
                        # A debt leaves more room than the capacity.
                        assert 0.0 <= guard.refill(energy) < np.inf
                        assert 0.0 <= guard.drain(energy) <= 1e6
                if fault == "lost":
                    sent = guard.hold("no message", dt)
                else:
                    sent = guard.update(seen, moved, wanted, step)
                assert sent.effort.shape == (model.nv,)
                assert np.isfinite(sent.effort).all()
                assert np.isfinite(sent.level)
                if not np.array_equal(sent.effort, wanted):
                    assert (np.abs(sent.effort) <= most + 1e-9).all(), sent.reason
            a = np.linalg.solve(d.M, np.clip(sent.effort, -most, most) - d.C @ v - d.g)
            v = np.clip(v + dt * a, -2.0, 2.0)
            q = model.integrate(q, dt * v)


def test_where_holding_the_weight_needs_no_energy_an_empty_tank_does_not_brake_with_full_force(
    native: ModuleType,
) -> None:
    # The vertical first axis of a UR5 that turns slowly: the energy of holding the weight is zero
    # up to rounding.
    model = arm("ur5")
    q, v, dt = model.neutral_configuration(), np.zeros(6), 1e-3
    v[0] = 0.1
    settings = {"tank_capacity": 0.0, "tank_initial": 0.0}
    plain = PortGuard(model, EnergyGuardSettings(**settings), period=dt)
    core = parity_of(native).PortGuard(native_model(native, model), settings, period=dt)
    wanted = model.evaluate(q, v).g + np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    for guard in (plain, core):
        guard.engage(q, v)
        sent = guard.update(q, v, wanted, 0.0)
        assert abs(sent.effort[0]) < 0.02 * model.joints.effort[0]
