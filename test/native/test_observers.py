# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
from vms_ph_dynamics.effects.friction import Friction
from vms_ph_io import robots

from .conftest import native_model

PARITY = 1e-9

# Of the standard deviation: the filter of the payload subtracts what it has learned from a prior
# that is ten orders of magnitude larger, which leaves as many digits less.
PAYLOAD = 1e-4

# Whose light arm leaves no digits of that covariance.
LIGHT = "hextilt"


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
def test_both_languages_observe_the_same(native: ModuleType, case: int) -> None:
    name, options, stated = CASES[case]
    known, rng, dt = robots.get(name), np.random.default_rng(case), 5e-3
    model = known.load()
    noise = NoiseModel(**stated)
    decoupled, friction = options.get("decoupled", False), options.get("friction", False)
    acting = Friction.of(model) if friction else None
    balance = ImpulseBalance(model, noise, "decoupled" if decoupled else "standard", acting)
    standard = ImpulseBalance(model, noise, "standard", acting)
    force, detector = MomentumObserver(model), ContactDetector(balance)
    wind = {"wind_force": 10.0, "wind_moment": 1.0, **options}
    ports = WrenchMap(balance, wind_force=wind["wind_force"], wind_moment=wind["wind_moment"])
    payload = PayloadObserver(standard)
    theirs = native.RobotObservers(native_model(native, model), asdict(noise), **options)
    q = model.configuration(known.home)

    def outside(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (t > 0.15) * np.linspace(-0.5, 1.0, model.nv) * model.total_mass / 20.0

    effort = moving_arm(model, q) if case % 2 == 0 else holding(model, q)
    contacts = 0
    for k, moment in enumerate(samples(model, q, effort, outside, dt, 60, fine=3)):
        state, given = measured(model, noise, moment, rng)
        step = dt
        if k == 20:
            given = np.full(model.nv, np.nan)
        if k == 40:
            payload.expect_change()
            theirs.expect_change()
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
        if name == LIGHT:
            continue
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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) for name in ("panda", "hextilt")]
)
def test_in_an_hour_of_free_motion_there_are_no_more_false_alarms_than_stated(
    native: ModuleType, name: str
) -> None:
    known, noise, dt, stated = robots.get(name), NoiseModel(), 1e-2, 10.0
    model, rng = known.load(), np.random.default_rng(2)
    observers = native.RobotObservers(
        native_model(native, model), asdict(noise), false_alarms=stated
    )
    q, none = model.configuration(known.home), np.zeros(model.nv)
    period = list(samples(model, q, moving_arm(model, q), lambda t, q, v: none, dt, 1000, fine=2))
    alarms = seen = 0
    for _ in range(360):
        observers.restart()
        for moment in period:
            state, effort = measured(model, noise, moment, rng)
            if observers.add(state.q, state.v, effort, dt):
                seen += 1
                alarms += observers.contact["began"]
    print(f"{alarms} false alarms in an hour of simulated time; at most {stated:g} expected")
    assert seen == 360 * 999
    assert alarms <= stated + 3.0 * np.sqrt(stated)


@pytest.mark.parametrize(
    "moving", [pytest.param(moving, marks=pytest.mark.slow) for moving in (True, False)]
)
def test_the_deviations_of_a_payload_cover_the_errors_of_two_hundred_draws(
    native: ModuleType, moving: bool
) -> None:
    model, noise, dt = robots.load("panda"), NoiseModel(), 5e-3
    heavy, parameters = loaded(model, 1.0)
    q, robot = model.configuration(robots.get("panda").home), native_model(native, model)
    effort = moving_arm(model, q) if moving else holding(model, q)
    inside, errors = [], []
    for seed in range(200):
        rng = np.random.default_rng(1000 + seed)
        offsets = noise.torque_error * rng.normal(size=7)
        observers = native.RobotObservers(robot, asdict(noise))
        for moment in samples(heavy, q, effort, lambda t, q, v: offsets, dt, 400, fine=1):  # noqa: B023
            state, given = measured(model, noise, moment, rng)
            observers.add(state.q, state.v, given, dt)
        found = observers.payload
        error = np.append(found["centre"] - parameters[1:4], found["mass"] - 1.0)
        inside.append(
            np.abs(error) < 1.96 * np.append(found["centre_deviation"], found["mass_deviation"])
        )
        errors.append(error)
    share, rms = np.mean(inside, axis=0), np.sqrt(np.mean(np.square(errors), axis=0))
    print(f"95 % intervals of centre and mass contain the truth in {share}; rms errors {rms}")
    assert (share > 0.9).all()
    assert rms[3] < 0.03


def test_the_noise_has_the_names_and_defaults_of_python(native: ModuleType) -> None:
    assert native.observer_noise == asdict(NoiseModel())


def test_options_out_of_range_are_refused_in_a_sentence(native: ModuleType) -> None:
    robot = native_model(native, robots.load("panda"))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"noise": {"torque": -1.0}}, "torque of a noise model must be finite and not negative"),
        ({"bandwidth": 0.0}, "the bandwidth must be positive"),
        ({"false_alarms": 0.0}, "false_alarms must be in"),
        ({"windows": 11}, "windows must be from 1 to 10; given: 11"),
    ]
    for options, said in wrong:
        with pytest.raises(ValueError, match=said):
            native.RobotObservers(robot, **options)
