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

"""The energy guard in C++ is that in Python: efforts, statuses, reasons and certificates."""

from dataclasses import asdict, fields
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from controllers.support.guard_runs import adversary, run, scene

from vms_ph_controllers.energy_guard import EnergyGuard, EnergyGuardSettings
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from .conftest import native_model

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
    assert native.energy_guard_settings == expected


CASES = [
    ("panda", {}, {}),
    ("panda", {"delay": 2}, {"refill_power": 0.5, "engagement_time": 0.02}),
    ("panda", {"effort_carries_weight": False, "delay": 1}, {"power": 20.0, "torque": 0.3}),
    ("panda", {"delay": 3}, {"speed": 0.5, "joint_speed": 1.0, "kinetic_energy": 0.4}),
    ("panda", {}, {"torque_rate": 2000.0, "joint_speed": 0.8}),
    ("omnidirectional_panda", {"delay": 1}, {"kinetic_energy": 0.2}),
    ("hextilt", {}, {}),
    ("satellite_panda", {"base_actuated": False, "delay": 1}, {}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_both_languages_send_the_same(native: ModuleType, case: int) -> None:
    name, options, settings = CASES[case]
    rng, known = np.random.default_rng(case), robots.get(name)
    model = known.load()
    given = scene(model, model.configuration(known.home), rng, case, False)
    dt, rest = given.dt, np.zeros(model.nv)
    settings = {"tank_capacity": 3.0, "tank_initial": 0.05, **settings}
    ours = EnergyGuard(model, EnergyGuardSettings(**settings), period=dt, **options)
    theirs = native.EnergyGuard(native_model(native, model), settings, period=dt, **options)
    acting = None if case % 2 else model.evaluate(given.q, rest).g + 0.1
    q, v = given.q, 0.2 * rng.uniform(-1, 1, model.nv)
    ours.engage(q, v, acting)
    assert theirs.engage(q, v, acting)
    policy, said = adversary(model, rng, dt), set()
    size = 1.0
    for k in range(60):
        wanted = policy(q, v, k)
        seen, moved = (q, v) if k % 20 != 17 else (np.full(model.nq, np.nan), v)
        if k % 20 == 5:
            wanted = np.full(model.nv, np.nan)
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
    one, two = ours.certificate(), theirs.certificate()
    for each, value in two.items():
        assert value == pytest.approx(getattr(one, each), abs=PARITY * size), each


def test_a_robot_or_option_that_does_not_fit_is_refused(native: ModuleType) -> None:
    panda = native_model(native, robots.load("panda"))
    wrong: list[dict[str, Any]] = [{"delay": 4}, {"period": 0.0}, {"settings": {"torque": 2.0}}]
    for each in wrong:
        with pytest.raises(ValueError, match=r"must be|no setting"):
            native.EnergyGuard(panda, **each)
    guard = native.EnergyGuard(panda)
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
        self._guard = native.EnergyGuard(self._model, given, delay=delay, period=period)
        self.engage, self.update = self._guard.engage, self._guard.update

    @property
    def level(self) -> float:
        return float(self._guard.certificate()["level"])

    def certificate(self) -> SimpleNamespace:
        return SimpleNamespace(**self._guard.certificate())


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
