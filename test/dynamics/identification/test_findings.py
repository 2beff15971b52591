# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What recordings tell of a wrong model, and of contacts."""

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification import Finding, Settings, findings, identify
from vms_ph_dynamics.identification.findings import _ends, _intervals, _model_errors, contacts
from vms_ph_dynamics.identification.result import Unknown, payload_unknowns
from vms_ph_dynamics.identification.windows import Windows
from vms_ph_io import robots

from .known_truth import random_truth, recording

MODULE = import_module("vms_ph_dynamics.identification.findings")  # the function has its name


@pytest.fixture(scope="module")
def whole() -> MotionSamples:
    model = robots.load("panda")
    bare = random_truth(model, np.random.default_rng(5), 1e-6)
    return recording(model, bare, np.random.default_rng(6))


@pytest.fixture(scope="module")
def samples(whole: MotionSamples) -> MotionSamples:
    return thinned(whole)


def thinned(samples: MotionSamples) -> MotionSamples:
    """Every second sample: the same findings in half of the time."""
    return MotionSamples(samples.t[::2], samples.q[::2], samples.v[::2], samples.torque[::2])


@pytest.fixture(autouse=True)
def _few_instants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "_INSTANT_COUNT", 150)


def _found(model: VMSModel, samples: MotionSamples) -> tuple[Finding, ...]:
    return findings(model, samples, identify(model, samples, settings=Settings(energy=False)))


def test_nothing_is_found_where_the_model_is_right(panda: VMSModel, samples: MotionSamples) -> None:
    assert _found(panda, samples) == ()


def test_swapped_columns_of_efforts_are_suspected(panda: VMSModel, samples: MotionSamples) -> None:
    torque = samples.torque[:, [0, 1, 2, 4, 3, 5, 6]]
    one, *_ = _found(panda, replace(samples, torque=torque))
    assert one.kind == "efforts"
    assert one.text.startswith(
        "the efforts of panda_joint4, panda_joint5 contradict the model: check"
    )


def test_efforts_of_two_joints_that_fit_in_each_others_place_seem_swapped(
    panda: VMSModel, samples: MotionSamples
) -> None:
    torque = samples.torque[:, [0, 3, 2, 1, 4, 5, 6]]
    one, *_ = _found(panda, replace(samples, torque=torque))
    assert one.text == "the efforts of panda_joint2 and panda_joint4 seem to be swapped"
    assert one.remedy.startswith("Swap them")
    # A wrong scale of both is none.
    scaled = replace(samples, torque=samples.torque * [1.0, 0.6, 1.0, 0.6, 1.0, 1.0, 1.0])
    assert not [found for found in _found(panda, scaled) if "swapped" in found.text]


def test_parts_of_a_recording_are_judged_together_and_each_finding_is_said_once(
    panda: VMSModel, samples: MotionSamples
) -> None:
    torque = samples.torque[:, [0, 1, 2, 4, 3, 5, 6]]
    arrays = (samples.t, samples.q, samples.v, torque)
    # Three of the parts are shorter than what tells of a motion.
    cuts = [slice(0, 700), slice(710, 760), slice(770, 820), slice(830, 880), slice(900, None)]
    parts = [MotionSamples(*(x[cut] for x in arrays)) for cut in cuts]
    identified = identify(panda, parts, settings=Settings(energy=False))
    (one,) = findings(panda, parts, identified)
    assert one.text.startswith("the efforts of panda_joint4, panda_joint5 contradict the model")


def test_efforts_that_a_gain_explains_far_better_look_scaled(
    panda: VMSModel, samples: MotionSamples
) -> None:
    torque = samples.torque / np.array([1.0, 1.7, 1.0, 1.7, 1.0, 1.0, 1.0])
    (one,) = (f for f in _found(panda, replace(samples, torque=torque)) if f.kind != "payload")
    assert "scaled, by the factors 1.7 at panda_joint2, 1.7 at panda_joint4" in one.text
    assert "try --identify gains,friction" in one.text


def test_a_hand_that_was_not_mounted_is_found(samples: MotionSamples) -> None:
    description = robots.get("panda").description()
    heavier = description.replace('<mass value="0.73"', '<mass value="1.73"')
    assert heavier != description
    model = VMSModel.from_urdf(heavier, end_effector="panda_link8")
    (one,) = _found(model, samples)
    assert one.kind == "payload"
    assert one.evidence["high"] < -0.85  # the rest of the hand's mass is believed to 2.5 % only
    start = f"this recording fits better with less mass: {one.evidence['value']:.4g} kg"
    assert one.text.startswith(start)
    assert one.evidence["unaccounted"] < one.evidence["unaccounted_before"]
    # Without any hand in the recording the links of the hand are named.
    bare = _without_hand(description)
    truth = random_truth(bare, np.random.default_rng(5), 1e-6)
    without = thinned(recording(bare, truth, np.random.default_rng(6)))
    (one,) = _found(robots.load("panda"), without)
    assert "without panda_hand and what is on it" in one.text


def _without_hand(description: str) -> VMSModel:
    pinocchio = VMSModel.from_urdf(description, end_effector="panda_link8").pinocchio
    for frame in pinocchio.frames:
        if "hand" in frame.name or "finger" in frame.name:
            pinocchio.inertias[7] = pinocchio.inertias[7] - frame.placement.act(frame.inertia)
    return VMSModel.from_pinocchio(pinocchio, "panda_link8")


@pytest.mark.parametrize(
    ("what", "joint"),
    [
        ("effort", 3),
        ("position", 3),
        ("position and effort", 3),
        pytest.param("position", 5, marks=pytest.mark.slow),
    ],
)
def test_an_opposite_sign_is_found(
    panda: VMSModel, samples: MotionSamples, what: str, joint: int
) -> None:
    sign = np.ones(7)
    sign[joint] = -1.0
    wrong = samples
    if "effort" in what:
        wrong = replace(wrong, torque=samples.torque * sign)
    if "position" in what:
        wrong = replace(wrong, q=samples.q * sign, v=samples.v * sign)
    (one,) = _found(panda, wrong)
    assert one.kind == "sign"
    expected = f"panda_joint{joint + 1}: the sign of its {what} is opposite to that of the model"
    assert one.text == expected


@pytest.mark.parametrize(("joint", "angle", "gains"), [(1, -90, False), (3, 90, True)])
def test_a_zero_that_is_off_by_a_quarter_turn_is_found(
    panda: VMSModel, samples: MotionSamples, joint: int, angle: int, gains: bool
) -> None:
    turned = replace(samples, q=samples.q + np.deg2rad(angle) * np.eye(7)[joint])
    kinds = ("gains", "friction") if gains else ("payload", "friction")
    identified = identify(panda, turned, kinds, settings=Settings(energy=False))
    (one,) = findings(panda, turned, identified)
    expected = f"panda_joint{joint + 1}: its zero is off by about {angle} degrees from that of the"
    assert one.text.startswith(expected)


def test_the_sign_of_a_position_is_no_sign_of_an_effort_where_gains_are_unknown(
    panda: VMSModel, samples: MotionSamples
) -> None:
    sign = np.ones(7) - 2.0 * np.eye(7)[2]
    wrong = replace(samples, q=samples.q * sign, v=samples.v * sign)
    identified = identify(panda, wrong, ("gains", "friction"), settings=Settings(energy=False))
    (one,) = findings(panda, wrong, identified)
    assert one.text == "panda_joint3: the sign of its position is opposite to that of the model"


def test_no_sign_is_opposite_where_only_other_joints_do_not_fit(panda: VMSModel) -> None:
    # The first joint turns to and fro, with friction; the others bear their weight and not what the
    # first one does to them.
    t = np.arange(0.0, 2.0, 0.004)
    q, v = np.zeros((2, len(t), 7))
    q[:, 0], v[:, 0] = 0.5 * np.sin(3 * t), 1.5 * np.cos(3 * t)
    d = panda.evaluate(np.zeros(7), np.zeros(7))
    torque = np.tile(d.g, (len(t), 1))
    torque[:, 0] = 0.5 * v[:, 0] - 4.5 * d.M[0, 0] * np.sin(3 * t)
    found = _found(panda, MotionSamples(t, q, v, torque))
    assert not [one for one in found if one.kind == "sign"]


def test_signs_are_compared_at_as_many_instants_of_a_long_recording_as_of_a_short_one(
    panda: VMSModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    instants = []

    def rows(model: Any, motion: Any, unknowns: Any, settings: Any, every: int) -> Windows:
        instants.append(len(motion.samples) / every)
        raise InterruptedError

    monkeypatch.setattr(MODULE, "torque_windows", rows)
    known: Any = SimpleNamespace(frame="panda_link8", length=0.3, unknowns=payload_unknowns(3.0))
    for count in (4_000, 40_000):
        motion: Any = SimpleNamespace(samples=range(count))
        with pytest.raises(InterruptedError):
            _model_errors(panda, [motion], known, None)
    assert instants[0] == pytest.approx(instants[1], rel=0.3)


def test_another_direction_of_gravity_is_found(samples: MotionSamples) -> None:
    description = robots.get("panda").description()
    lying = VMSModel.from_urdf(description, end_effector="panda_link8", gravity=(0, -9.81, 0))
    (one,) = _found(lying, samples)
    assert one.kind == "gravity"
    found = [one.evidence[f"gravity_{axis}"] for axis in "xyz"]
    np.testing.assert_allclose(found, [0.0, 0.0, -9.81], atol=1.0)


def test_a_push_is_found_with_its_times_and_its_energy(
    panda: VMSModel, whole: MotionSamples
) -> None:
    samples, t = whole, whole.t
    contact = _felt(panda, samples, np.where((t > 6.3) & (t < 6.9), 40.0, 0.0))
    # The robot keeps its motion: its motors make up for the push.
    pushed = replace(samples, torque=samples.torque - contact)
    brought = float(np.sum(0.5 * (contact[1:] + contact[:-1]) * np.diff(samples.q, axis=0)))
    touches = [one for one in _found(panda, pushed) if one.kind == "contact"]
    assert len(touches) == 1
    assert touches[0].begin == pytest.approx(6.3, abs=0.06)
    assert touches[0].end == pytest.approx(6.9, abs=0.06)
    assert touches[0].energy == pytest.approx(brought, rel=0.1, abs=0.2)
    # The joint that felt it most makes up for it.
    felt = contact[:, panda.joint_names.index(touches[0].text.split("; ")[1].split()[0])]
    effort = touches[0].evidence["largest_effort"]
    assert effort == pytest.approx(-felt[np.argmax(np.abs(felt))], rel=0.3)
    assert set(touches[0].as_dictionary()) >= {"kind", "text", "evidence", "begin", "end"}


def _felt(panda: VMSModel, samples: MotionSamples, push: np.ndarray) -> np.ndarray:
    """Joint efforts of a push along y of the inertial frame, N."""
    tree, data, axes = panda.pinocchio, panda.tree.data(), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    efforts = []
    for q, force in zip(samples.q, push, strict=True):
        jacobian = pin.computeFrameJacobian(tree, data, q, panda.end_effector_id, axes)
        efforts.append(jacobian[1] * force)
    return np.array(efforts)


def test_a_long_push_is_a_contact_and_no_friction(panda: VMSModel, samples: MotionSamples) -> None:
    push = np.where((samples.t > 4.0) & (samples.t < 10.0), 20.0, 0.0)
    pushed = replace(samples, torque=samples.torque - _felt(panda, samples, push))
    identified = identify(panda, pushed, ("friction",), settings=Settings(energy=False))
    ((begin, end),) = identified.disturbed
    assert (begin, end) == pytest.approx((4.0, 10.0), abs=0.8)
    assert max(error for error, _ in identified.error.values()) < 0.02
    truth = random_truth(panda, np.random.default_rng(5), 1e-6)
    for p in identified.claims:
        if p.kind == "friction":
            assert abs(p.value - truth.values[p.name]) < 3.0 * (p.high - p.low)
    touches = [one for one in findings(panda, pushed, identified) if one.kind == "contact"]
    assert min(one.begin for one in touches) == pytest.approx(4.0, abs=0.3)
    assert max(one.end for one in touches) == pytest.approx(10.0, abs=0.3)


def test_gaps_shorter_than_a_contact_join_it_and_a_touch_is_none() -> None:
    t = 0.01 * np.arange(200)
    exceeded = np.zeros(200, bool)
    for first, behind in ((10, 20), (45, 50), (81, 90), (120, 128), (160, 164)):
        exceeded[first:behind] = True
    # 0.26 s between the first two; 0.32 s to the next; the last lasts 0.03 s.
    assert _intervals(t, exceeded) == [(10, 50), (81, 90), (120, 128)]
    exceeded[-8:] = True
    assert _intervals(t, exceeded)[-1] == (160, 200)


def _contacts(
    monkeypatch: pytest.MonkeyPatch,
    excess: tuple[float, float] | np.ndarray,
    count: int = 50,
    slow: float = 1.0,
    end: float = 0.0,
    usual: float = 1e-3,
    **error: float,
) -> tuple[Finding, ...]:
    """Return the contacts of two joints whose efforts differ by an excess from 3 s on.

    The noise of joint a is up to 0.5 of efforts of 100, that of b 0.005 of 1. With 1 % of them, and
    0.3 % of the largest, the deviations that count are 1.83 and 0.315. Their dry friction is 8 and
    0.6, and their speed is ``slow`` where they differ, 1 elsewhere. Joint a is at an end, 1 or -1.
    Windows of 0.05 s lack 0.2 J where they differ, and the usual energy elsewhere.
    """
    t, size = 0.01 * np.arange(1000), np.array([100.0, 1.0])
    differ = np.array([0.5, 0.005]) * np.sin(np.arange(1000.0))[:, None]
    differ[300 : 300 + count] += excess
    stamps, none = np.repeat(t, 2), np.zeros(2000)
    flat = (differ / size).reshape(-1)
    rows = Windows(stamps, stamps, flat, np.zeros((2000, 2)), np.tile(size, 1000), none, none)
    begin = 0.05 * np.arange(200)
    unaccounted = np.where((begin > 2.99) & (begin < 3.46), -0.2, usual)
    windows = Windows(begin, begin + 0.05, unaccounted, np.zeros((200, 2)), *3 * [np.zeros(200)])
    fakes = {"torque_windows": rows, "energy_windows": windows, "EnergyRegressor": 0}
    fakes |= {"_ends": np.tile([end, 0.0], (1000, 1))}
    for name, result in fakes.items():
        monkeypatch.setattr(MODULE, name, lambda *_, result=result: result)
    known: Any = SimpleNamespace(
        frame="tip",
        length=0.05,
        disturbed=(),
        unknowns=[
            Unknown(f"friction.{name}.coulomb", "friction", "N m", 0.0, 1.0) for name in "ab"
        ],
        consistent=np.array([8.0, 0.6]),
        error={n: (e, 0.9) for n, e in ({"a": 0.1, "b": 0.1} | error).items() if e < 1.0},
    )
    joints = SimpleNamespace(prismatic=(False, True))
    model: Any = SimpleNamespace(n=2, b=0, joint_names=("a", "b"), joints=joints)
    speed = np.ones((1000, 2))
    speed[300 : 300 + count] = slow
    motion: Any = SimpleNamespace(samples=SimpleNamespace(t=t), v=speed)
    return contacts(model, [motion], known)


def test_a_contact_is_what_two_joints_feel_beyond_their_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (one,) = _contacts(monkeypatch, (20.0, -1.5))
    assert (one.begin, one.end) == pytest.approx((3.0, 3.49))
    assert one.energy == pytest.approx(2.0)  # ten windows that lack 0.2 J
    assert one.text.endswith("brought 2 J; a felt it most")
    assert one.evidence["largest_effort"] == pytest.approx(20.0, abs=1.1)
    assert one.evidence["standard_deviations"] == pytest.approx(20.5 / 1.83, rel=0.03)
    assert _contacts(monkeypatch, (20.0, -0.8)) == ()  # b feels 2.5 deviations
    assert len(_contacts(monkeypatch, (20.0, -1.1))) == 1
    assert _contacts(monkeypatch, (5.2, -1.7)) == ()  # none feels six
    assert len(_contacts(monkeypatch, (7.0, -2.5))) == 1


def test_a_contact_brings_more_than_as_long_a_time_elsewhere_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(_contacts(monkeypatch, (20.0, -1.5), usual=0.17)) == 1
    assert _contacts(monkeypatch, (20.0, -1.5), usual=0.21) == ()  # the jerk of a lost command


def test_a_contact_that_grows_and_fades_is_judged_by_its_peak(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Where it begins and ends, b feels less than two standard deviations.
    shape = np.sin(np.linspace(0.0, np.pi, 50))
    (one,) = _contacts(monkeypatch, np.outer(shape, [40.0, -1.5]))
    assert one.text.endswith("a felt it most")
    assert one.evidence["largest_effort"] == pytest.approx(40.0, abs=1.1)


def test_what_may_be_dry_friction_of_a_slow_joint_is_no_contact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(_contacts(monkeypatch, (20.0, -1.5))) == 1
    assert _contacts(monkeypatch, (20.0, -1.5), slow=0.1) == ()
    assert len(_contacts(monkeypatch, (30.0, -2.5), slow=0.1)) == 1


def test_a_joint_that_presses_on_its_stop_is_in_no_contact(
    panda: VMSModel, samples: MotionSamples, monkeypatch: pytest.MonkeyPatch
) -> None:
    upper, lower = panda.joints.upper, panda.joints.lower
    q = np.vstack([upper - 0.001, 0.5 * (upper + lower), lower + 0.001])
    motion: Any = SimpleNamespace(samples=SimpleNamespace(t=samples.t[:3], q=q))
    np.testing.assert_array_equal(_ends(panda, [motion], samples.t[:3])[:, 3], [1.0, 0.0, -1.0])
    (one,) = _contacts(monkeypatch, (30.0, 0.0), slow=0.1, end=1.0)
    assert (one.kind, one.energy) == ("stop", None)
    assert one.text.startswith("a seems to press on its stop between 3.00 s and 3.49 s, with up")
    # It presses away from its end, or moves.
    assert _contacts(monkeypatch, (30.0, 0.0), slow=0.1, end=-1.0) == ()
    assert _contacts(monkeypatch, (30.0, 0.0), slow=1.0, end=1.0) == ()


def test_what_may_be_a_wrong_model_is_no_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(_contacts(monkeypatch, (20.0, -1.5), 50, a=0.2)) == 1
    assert _contacts(monkeypatch, (20.0, -1.5), 50, a=0.3) == ()  # a cannot be predicted
    assert _contacts(monkeypatch, (20.0, -1.5), 50, a=1.0) == ()  # a was left out
    assert len(_contacts(monkeypatch, (20.0, -1.5), 290)) == 1
    assert _contacts(monkeypatch, (20.0, -1.5), 310) == ()  # it lasts too long
