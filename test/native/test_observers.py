# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The observers in C++ are those in Python: wrench, contact and payload of the same samples."""

from dataclasses import asdict
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from controllers.observers.test_payload_observer import loaded
from controllers.support.observed_robots import holding, measured, moving_arm, samples

from vms_ph_controllers.observers import (
    ContactDetector,
    ImpulseBalance,
    MomentumObserver,
    NoiseModel,
    PayloadObserver,
    WrenchMap,
)
from vms_ph_dynamics import Friction
from vms_ph_io import robots

from .conftest import native_model

PARITY = 1e-9

# Of the standard deviation: what is not excited is known by its prior alone, many orders of
# magnitude less than the rest, which costs digits of the inverse (1.4e-7 was seen).
PAYLOAD = 1e-6


def _close(theirs: Any, ours: Any, size: float = 1.0, parity: float = PARITY) -> None:
    """Compare relative to the largest entry, which sets the rounding of the others."""
    ours = np.asarray(ours, float)
    finite = np.abs(ours[np.isfinite(ours)])
    atol = parity * max(size, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(np.asarray(theirs, float), ours, rtol=0, atol=atol)


CASES: list[tuple[str, dict[str, Any], dict[str, float]]] = [
    ("panda", {}, {}),
    ("panda", {"friction": True}, {"model_error": 0.05}),
    ("omnidirectional_panda", {"decoupled": True}, {"model_error": 0.02}),
    ("hextilt", {"decoupled": True, "friction": True}, {"velocity": 0.02}),
    ("satellite_panda", {"wind_force": 0.0, "wind_moment": 0.0}, {}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_both_languages_observe_the_same(native: ModuleType, parity: ModuleType, case: int) -> None:
    name, options, stated = CASES[case]
    known, rng, dt = robots.get(name), np.random.default_rng(case), 5e-3
    model = known.load()
    noise = NoiseModel(**stated)
    decoupled, friction = options.get("decoupled", False), options.get("friction", False)
    acting = Friction.from_model(model) if friction else None
    balance = ImpulseBalance(model, noise, "decoupled" if decoupled else "standard", acting)
    standard = ImpulseBalance(model, noise, "standard", acting)
    force, detector = MomentumObserver(model), ContactDetector(balance)
    wind = {"wind_force": 10.0, "wind_moment": 1.0, **options}
    ports = WrenchMap(balance, wind_force=wind["wind_force"], wind_moment=wind["wind_moment"])
    payload = PayloadObserver(standard)
    theirs = parity.RobotObservers(native_model(native, model), asdict(noise), **options)
    q = model.configuration(known.home)

    def outside(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (t > 0.15) * np.linspace(-0.5, 1.0, model.nv) * model.total_mass / 20.0

    effort = moving_arm(model, q) if case % 2 == 0 else holding(model, q)
    contacts = 0
    for k, moment in enumerate(samples(model, q, effort, outside, dt, 110, fine=2)):
        state, given = measured(model, noise, moment, rng)
        step = dt
        if k == 10:
            given = np.full(model.nv, np.nan)
        if k == 70:
            step = 3.0 * dt
        ours, plain = balance.add(state, given, step), standard.add(state, given, step)
        assert theirs.add(state.q, state.v, given, step) == (ours is not None)
        if ours is None or plain is None:
            continue
        found = force.add(ours)
        wrench, contact, held = ports.estimate(found), detector.add(ours), payload.add(plain)
        _close(theirs.force, found.value)
        _close(theirs.force_covariance, found.covariance)
        _close(theirs.wrench[:6], wrench.end_effector)
        _close(theirs.covariance[:6, :6], wrench.covariance)
        if len(theirs.wrench) > 6:
            _close(theirs.wrench[6:], wrench.base)
            _close(theirs.covariance[6:, 6:], wrench.covariance_base)
        told = theirs.contact
        for key, value in asdict(contact).items():
            _close(told[key], value)
        contacts += contact.contact
        told = theirs.payload
        spread = held.mass_deviation
        _close(told["mass"], held.mass, spread, PAYLOAD)
        _close(told["moment"], held.moment, spread, PAYLOAD)
        _close(told["covariance"], held.covariance, spread**2, PAYLOAD)
        _close(told["mass_deviation"], spread, spread, PAYLOAD)
        if held.mass > 3.0 * spread:
            _close(told["centre"], held.centre, 1.0, PAYLOAD)
            _close(told["centre_deviation"], held.centre_deviation, 1.0, PAYLOAD)
        assert told["changed"] == held.changed
    assert contacts > 0


SLOW = pytest.mark.slow

MOVING = ("panda", "hextilt", "borinot", "omnidirectional_panda", "satellite_panda")


@pytest.mark.parametrize(
    ("name", "periods"),
    [
        ("panda", 1),
        ("hextilt", 1),
        *(pytest.param(name, 360, marks=SLOW) for name in MOVING),
    ],
)
def test_in_an_hour_of_free_motion_there_are_no_more_false_alarms_than_stated(
    native: ModuleType, parity: ModuleType, name: str, periods: int
) -> None:
    # A period is 10 s at 100 Hz. The short form expects hundreds of alarms in an hour, so that one
    # period has some to count, and too many are seen.
    known, noise, dt = robots.get(name), NoiseModel(), 1e-2
    stated = 10.0 if periods > 1 else 3600.0
    model, rng = known.load(), np.random.default_rng(2)
    observers = parity.RobotObservers(
        native_model(native, model), asdict(noise), false_alarms=stated
    )
    q, none = model.configuration(known.home), np.zeros(model.nv)
    period = list(samples(model, q, moving_arm(model, q), lambda t, q, v: none, dt, 1000, fine=2))
    alarms = changes = seen = outside = 0
    for _ in range(periods):
        observers.restart()
        for moment in period:
            state, effort = measured(model, noise, moment, rng)
            if observers.add(state.q, state.v, effort, dt):
                seen += 1
                alarms += observers.contact["has_begun"]
                changes += observers.payload["changed"]
                wrench, covariance = observers.wrench, observers.covariance
                outside += bool((np.abs(wrench) > 5.0 * np.sqrt(np.diag(covariance))).any())
    print(
        f"{name}, {seen} samples: {alarms} false contacts, at most {stated:g} an hour expected; "
        f"{changes} changes of no payload; {outside} wrenches beyond five deviations"
    )
    assert seen == periods * 999
    expected = stated * periods / 360.0
    assert alarms <= expected + 3.0 * np.sqrt(expected)
    assert changes == 0
    assert outside <= 5e-4 * seen


@pytest.mark.parametrize(
    ("name", "mass", "moving", "draws"),
    [
        ("hextilt", 0.2, True, 6),
        ("panda", 1.0, False, 6),
        pytest.param("hextilt", 0.2, True, 200, marks=SLOW),
        pytest.param("hextilt", 0.2, False, 200, marks=SLOW),
        pytest.param("panda", 1.0, True, 200, marks=SLOW),
        pytest.param("panda", 1.0, False, 200, marks=SLOW),
    ],
)
def test_the_deviations_of_a_payload_cover_the_errors_of_draws_of_noise_and_offsets(
    native: ModuleType, parity: ModuleType, name: str, mass: float, moving: bool, draws: int
) -> None:
    # The controller holds the motion whatever the offsets are, as integral action does: they are
    # errors of the measured torques.
    known, noise, dt = robots.get(name), NoiseModel(), 5e-3
    model = known.load()
    heavy, parameters = loaded(model, mass)
    q, none = model.configuration(known.home), np.zeros(model.nv)
    effort = moving_arm(heavy, q) if moving else holding(heavy, q)
    run = list(samples(heavy, q, effort, lambda t, q, v: none, dt, 400, fine=1))
    inside, errors = [], []
    for seed in range(draws):
        rng = np.random.default_rng(1000 + seed)
        offset = np.concatenate([np.zeros(model.b), noise.torque_error * rng.normal(size=model.n)])
        observers = parity.RobotObservers(native_model(native, model), asdict(noise))
        for moment in run:
            state, given = measured(model, noise, moment, rng)
            observers.add(state.q, state.v, given - offset, dt)
        found = observers.payload
        error = np.append(found["mass"], found["moment"]) - parameters[:4]
        inside.append(np.abs(error) < 2.0 * np.sqrt(np.diag(found["covariance"])))
        errors.append(error[0] / mass)
    share, rms = np.mean(inside, axis=0), np.sqrt(np.mean(np.square(errors)))
    print(f"{name}: intervals of two deviations hold mass and moment in {share}; rms error {rms}")
    # Of few draws the intervals are counted together.
    assert (share > 0.9).all() if draws > 10 else share.mean() > 0.8
    # Deviations: 20 g of 1 kg at rest, 7 g of 0.2 kg in flight.
    assert rms < (0.03 if name == "panda" else 0.06)


def test_the_noise_has_the_names_and_defaults_of_python(parity: ModuleType) -> None:
    assert parity.observer_noise == asdict(NoiseModel())


def test_options_out_of_range_are_refused_in_a_sentence(
    native: ModuleType, parity: ModuleType
) -> None:
    robot = native_model(native, robots.load("panda"))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"noise": {"torque": -1.0}}, "torque of a noise model must be finite and not negative"),
        ({"bandwidth": 0.0}, "the bandwidth must be positive"),
        ({"false_alarms": 0.0}, "false_alarms must be in"),
        ({"windows": 11}, "windows must be from 1 to 10; given: 11"),
    ]
    for options, said in wrong:
        with pytest.raises(ValueError, match=said):
            parity.RobotObservers(robot, **options)
