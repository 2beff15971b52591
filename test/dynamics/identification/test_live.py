# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The live identification follows a load that appears and friction that changes."""

from dataclasses import replace
from functools import cache

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.energy.regressor import EnergyRegressor
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification import identify
from vms_ph_dynamics.identification.estimate import estimate
from vms_ph_dynamics.identification.live import (
    LiveIdentification,
    LiveResult,
)
from vms_ph_dynamics.identification.result import Parameter, payload_unknowns, prior_of
from vms_ph_dynamics.identification.windows import (
    Sample,
    WindowSettings,
    WindowStream,
    energy_windows,
    motion_of,
)
from vms_ph_io import robots

from .known_truth import Truth, random_truth, recording


def _feed(
    live: LiveIdentification, samples: MotionSamples, begin: float, end: float
) -> list[LiveResult]:
    """Return the results of one update every two seconds."""
    found = []
    first, last = np.searchsorted(samples.t, [begin, end])
    for k in range(first, last):
        wrenches = {port: w[k] for port, w in samples.wrenches.items()}
        live.add(Sample(samples.t[k], samples.q[k], samples.v[k], samples.torque[k], wrenches))
        if (k + 1 - first) % 500 == 0 or k == last - 1:
            result = live.update()
            found += [result] if result else []
    return found


def _recordings(model: VMSModel, *truths: Truth) -> list[MotionSamples]:
    """Return recordings of the same motion."""
    return [recording(model, truth, np.random.default_rng(3)) for truth in truths]


@cache
def _panda_recording() -> tuple[VMSModel, Truth, MotionSamples]:
    model = robots.load("panda")
    truth = random_truth(model, np.random.default_rng(4), 1.5)
    return model, truth, recording(model, truth, np.random.default_rng(4))


def _first(samples: MotionSamples, count: int) -> MotionSamples:
    rows = {name: getattr(samples, name)[:count] for name in ("t", "q", "v", "torque")}
    return replace(samples, **rows, wrenches={p: w[:count] for p, w in samples.wrenches.items()})


def test_a_window_is_ready_as_soon_as_it_has_ended() -> None:
    model = robots.load("panda")
    samples = _recordings(model, random_truth(model, np.random.default_rng(3), 0.5))[0]
    settings = WindowSettings(model.end_effector, 0.3)
    stream = WindowStream(model, EnergyRegressor(model), payload_unknowns(3.0), settings)
    ready = []
    for k in range(260):
        stream.add(Sample(samples.t[k], samples.q[k], samples.v[k], samples.torque[k], {}))
        if k % 20 == 0:
            ready += [(samples.t[k], windows) for windows in stream.take()]
    assert len(ready) >= 2
    for t, windows in ready:
        assert len(windows) == 1
        assert t - windows.end[0] < 0.2


def test_after_a_gap_windows_are_those_of_a_stream_that_begins_there() -> None:
    model, _, samples = _panda_recording()
    settings, regressor = WindowSettings(model.end_effector, 0.3), EnergyRegressor(model)
    both = [WindowStream(model, regressor, payload_unknowns(3.0), settings) for _ in range(2)]
    for k in range(360):
        after = k >= 60
        sample = Sample(
            samples.t[k] + 1.0 * after, samples.q[k], samples.v[k], samples.torque[k], {}
        )
        for stream in both if after else both[:1]:
            stream.add(sample)
    (found,), (expected,) = (stream.take() for stream in both)
    assert len(found) >= 2
    for name in ("begin", "end", "target", "columns"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("name", ["panda", "omnidirectional_panda"])
def test_a_load_that_appears_is_found_and_known_from_what_is_before(name: str) -> None:
    model = robots.load(name)
    loaded = random_truth(model, np.random.default_rng(3), 1.5)
    bare = replace(
        loaded, payload=pin.Inertia.Zero(), values={**loaded.values, "payload_mass": 0.0}
    )
    before, after = _recordings(model, bare, loaded)
    live = LiveIdentification(model)
    without = _feed(live, before, 0.0, 8.0)[-1]
    found = _feed(live, after, 8.0, 15.0)[-1]
    assert without["payload_mass"].contains(0.0)
    assert without.changed is None
    assert found.changed is not None
    assert found.changed[1] == "payload"
    assert found.changed[0] == pytest.approx(8.0, abs=0.3)
    mass = found["payload_mass"]
    assert mass.contains(loaded.values["payload_mass"])
    assert mass.value == pytest.approx(loaded.values["payload_mass"], rel=0.05)
    # What was learnt of friction before the change is kept.
    inside = [
        p.contains(loaded.values[p.name])
        for p in found.parameters
        if p.kind == "friction" and p.value is not None
    ]
    assert len(inside) > 12
    assert np.mean(inside) > 0.75


def test_friction_of_a_joint_that_changes_at_once_is_found() -> None:
    model = robots.load("panda")
    old = random_truth(model, np.random.default_rng(3), 1.5)
    more = np.where(np.arange(model.n) == 1, 4.0, 1.0)
    values = dict(old.values)
    values["friction.panda_joint2.coulomb"] *= 4.0
    new = replace(old, coulomb=old.coulomb * more, values=values)
    before, after = _recordings(model, old, new)
    live = LiveIdentification(model)
    _feed(live, before, 0.0, 8.0)
    found = _feed(live, after, 8.0, 15.0)[-1]
    assert found.changed is not None
    assert found.changed[1] == "panda_joint2"
    coulomb = found["friction.panda_joint2.coulomb"]
    assert coulomb.contains(values["friction.panda_joint2.coulomb"])
    assert not coulomb.contains(old.values["friction.panda_joint2.coulomb"])
    assert found["payload_mass"].contains(values["payload_mass"])


def test_friction_that_was_is_forgotten_with_the_motion_that_told_it() -> None:
    model = robots.load("panda")
    old = random_truth(model, np.random.default_rng(3), 1.5)
    new = replace(old, viscous=1.2 * old.viscous)
    before, after = _recordings(model, old, new)
    live = LiveIdentification(model, memory=6.0)
    _feed(live, before, 0.0, 7.0)
    found = _feed(live, after, 7.0, 15.0)[-1]
    assert found.memory_span <= 6.0
    assert 0.2 < live._usual_error < 2.0  # a good prediction errs as its variance says
    truth = {
        f"friction.{name}.viscous": v
        for name, v in zip(model.joint_names, new.viscous, strict=True)
    }
    inside = [found[name].contains(v) for name, v in truth.items() if found[name].value is not None]
    assert len(inside) > 2
    assert np.mean(inside) > 0.6


def test_it_is_the_identification_of_the_whole_recording_where_nothing_changes() -> None:
    model, _, samples = _panda_recording()
    samples = _first(samples, 2500)
    live = _feed(LiveIdentification(model), samples, 0.0, 10.0)[-1]
    whole, regressor = identify(model, samples), EnergyRegressor(model)
    # What is identified live: neither lags of single joints nor errors of the description.
    unknowns = [u for u in whole.unknowns if u.kind in ("payload", "friction", "timing")]
    settings = WindowSettings(whole.frame)
    rows = energy_windows(model, regressor, motion_of(model, samples), unknowns, settings)
    theirs = estimate(rows.columns, rows.target, *prior_of(unknowns), rows.noise, rows.recording)
    ours, half_interval = (
        live["payload_mass"],
        theirs.quantile * np.linalg.norm(theirs.factor[:, 0]),
    )
    assert ours.value == pytest.approx(theirs.mean[0], rel=0.005)
    assert ours.high - ours.low < 4.0 * half_interval  # type: ignore[operator]
    assert live.changed is None


def test_a_logger_that_repeats_samples_does_no_harm() -> None:
    model, truth, samples = _panda_recording()
    # Every twelfth period the logger writes the state of the one before, as on a real Panda.
    index = np.arange(2000)
    index[::12] = np.maximum(index[::12] - 1, 0)
    stamps = 0.004 * np.arange(2000)
    repeated = MotionSamples(
        stamps, samples.q[index], samples.v[index], samples.torque[index], samples.wrenches
    )
    found = _feed(LiveIdentification(model), repeated, 0.0, 8.0)[-1]
    mass = found["payload_mass"]
    assert mass.contains(truth.values["payload_mass"])
    assert mass.high - mass.low < 0.3  # type: ignore[operator]
    assert found.changed is None


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("changes", [False, True])
def test_intervals_contain_the_truth_in_90_to_98_percent(changes: bool) -> None:
    model = robots.load("panda")
    inside: dict[str, list[bool]] = {"payload": [], "friction": []}
    for seed in range(60):
        truth = random_truth(model, np.random.default_rng(5000 + seed), 1.5)
        bare = {**truth.values, "payload_mass": 0.0}
        old = replace(truth, payload=pin.Inertia.Zero(), values=bare) if changes else truth
        samples = [recording(model, one, np.random.default_rng(seed)) for one in (old, truth)]
        live = LiveIdentification(model)
        _feed(live, samples[0], 0.0, 7.5)
        told = _feed(live, samples[1], 7.5, 15.0)
        for p in (p for result in told if result.t > 9.5 for p in result.parameters):
            if p.value is not None and p.name in truth.values and not p.at_bound:
                inside[p.kind].append(p.contains(truth.values[p.name]))
    for kind, results in inside.items():
        print(f"{kind}: {np.mean(results):.3f} of {len(results)} intervals")
        assert len(results) > 500
        assert 0.90 <= np.mean(results) <= 0.98


def test_what_has_just_changed_is_not_claimed_before_the_motion_tells_what() -> None:
    model = robots.load("panda")
    loaded = random_truth(model, np.random.default_rng(3), 1.5)
    bare = replace(loaded, payload=pin.Inertia.Zero())
    before, after = _recordings(model, bare, loaded)
    live = LiveIdentification(model)
    assert _feed(live, before, 0.0, 8.0)[-1]["payload_mass"].value is not None
    soon = _feed(live, after, 8.0, 8.7)[-1]
    assert all(p.value is None for p in soon.parameters)
    assert soon["payload_mass"].reason.startswith("something has changed at once")
    assert _feed(live, after, 8.7, 12.0)[-1]["payload_mass"].contains(loaded.values["payload_mass"])


def test_what_does_not_move_is_not_claimed() -> None:
    model = robots.load("panda")
    truth = random_truth(model, np.random.default_rng(4), 1.5)
    moves_little = recording(model, truth, np.random.default_rng(4), still=(4, 5, 6))
    found = _feed(LiveIdentification(model), moves_little, 0.0, 8.0)[-1]
    for joint in model.joint_names[4:]:
        assert all(p.value is None for p in found.parameters if f".{joint}." in p.name)
    at_rest = recording(model, truth, np.random.default_rng(4), still=tuple(range(7)))
    assert _feed(LiveIdentification(model), at_rest, 0.0, 4.0) == []


def test_rest_is_no_motion_to_forget_by_and_a_gap_no_motion_at_all() -> None:
    model, truth, samples = _panda_recording()
    live = LiveIdentification(model)
    told = _feed(live, samples, 0.0, 8.0)[-1]
    last = int(np.searchsorted(samples.t, 8.0)) - 1
    still = np.zeros(model.nv)
    for k in range(2000):
        live.add(Sample(9.0 + 0.02 * k, samples.q[last], still, samples.torque[last]))
    assert live.update() is None
    later = replace(samples, t=samples.t + 100.0)
    found = _feed(live, later, 108.5, 110.5)[-1]
    assert told.memory_span < found.memory_span < told.memory_span + 2.0
    assert found["payload_mass"].contains(truth.values["payload_mass"])


def test_samples_and_windows_that_are_kept_are_bounded() -> None:
    model, _, samples = _panda_recording()
    live = LiveIdentification(model, memory=5.0)
    for k in range(20_000):
        live.add(Sample(1e-3 * k, samples.q[0], samples.v[0], samples.torque[0]))
    assert len(live._stream._queue) == 10_000
    live.update()
    _feed(live, replace(samples, t=samples.t + 100.0), 100.0, 108.0)
    assert live._windows is not None
    assert len(live._windows) <= 100
    assert len(live._stream._samples) < 100
    assert not live._stream._queue


def test_a_frame_that_does_not_move_is_refused() -> None:
    with pytest.raises(ModelError, match="does not move"):
        LiveIdentification(robots.load("panda"), "panda_link0")


def test_a_parameter_that_does_not_exist_is_named_with_those_that_do() -> None:
    result = LiveResult(0.0, (Parameter("payload_mass", "payload", "kg"),), 0.0, 0.0, None)
    assert result["payload_mass"].unit == "kg"
    with pytest.raises(KeyError, match="load; there are payload_mass"):
        result["load"]


def test_half_a_minute_of_motion_is_remembered(panda: VMSModel) -> None:
    assert LiveIdentification(panda).memory == 30.0
