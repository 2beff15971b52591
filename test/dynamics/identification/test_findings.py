# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What recordings tell of a wrong model, and of contacts."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification import Finding, Settings, findings, identify
from vms_ph_dynamics.identification.findings import _intervals
from vms_ph_io import robots

from .known_truth import random_truth, recording


@pytest.fixture(scope="module")
def samples() -> MotionSamples:
    model = robots.load("panda")
    bare = random_truth(model, np.random.default_rng(5), 1e-6)
    return recording(model, bare, np.random.default_rng(6))


def _found(model: VMSModel, samples: MotionSamples) -> tuple[Finding, ...]:
    return findings(model, samples, identify(model, samples, settings=Settings(energy=False)))


def test_nothing_is_found_where_the_model_is_right(panda: VMSModel, samples: MotionSamples) -> None:
    assert _found(panda, samples) == ()


def test_a_hand_that_was_not_mounted_is_found(samples: MotionSamples) -> None:
    description = robots.get("panda").description()
    heavier = description.replace('<mass value="0.73"', '<mass value="1.73"')
    assert heavier != description
    model = VMSModel.from_urdf(heavier, end_effector="panda_link8")
    (one,) = _found(model, samples)
    assert one.kind == "payload"
    assert one.evidence["high"] < -0.9
    assert one.text.startswith("this recording fits better with less mass: -1.0")
    assert one.evidence["unaccounted"] < one.evidence["unaccounted_before"]
    # Without any hand in the recording the links of the hand are named.
    bare = _without_hand(description)
    truth = random_truth(bare, np.random.default_rng(5), 1e-6)
    (one,) = _found(robots.load("panda"), recording(bare, truth, np.random.default_rng(6)))
    assert "without panda_hand and what is on it" in one.text


def _without_hand(description: str) -> VMSModel:
    pinocchio = VMSModel.from_urdf(description, end_effector="panda_link8").pinocchio
    for frame in pinocchio.frames:
        if "hand" in frame.name or "finger" in frame.name:
            pinocchio.inertias[7] = pinocchio.inertias[7] - frame.placement.act(frame.inertia)
    return VMSModel.from_pinocchio(pinocchio, "panda_link8")


@pytest.mark.parametrize(
    ("what", "joint"),
    [("effort", 3), ("position", 3), ("position and effort", 3), ("position", 5)],
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


def test_another_direction_of_gravity_is_found(samples: MotionSamples) -> None:
    description = robots.get("panda").description()
    lying = VMSModel.from_urdf(description, end_effector="panda_link8", gravity=(0, -9.81, 0))
    (one,) = _found(lying, samples)
    assert one.kind == "gravity"
    found = [one.evidence[f"gravity_{axis}"] for axis in "xyz"]
    np.testing.assert_allclose(found, [0.0, 0.0, -9.81], atol=1.0)


def test_a_push_is_found_with_its_times_and_its_energy(
    panda: VMSModel, samples: MotionSamples
) -> None:
    t = samples.t
    push = np.where((t > 6.3) & (t < 6.9), 40.0, 0.0)
    tree, data = panda.pinocchio, panda.tree.data()
    efforts = []
    for q, force in zip(samples.q, push, strict=True):
        jacobian = pin.computeFrameJacobian(
            tree, data, q, panda.end_effector_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        efforts.append(jacobian[1] * force)
    contact = np.array(efforts)
    # The robot keeps its motion: its motors make up for the push.
    pushed = replace(samples, torque=samples.torque - contact)
    brought = float(np.sum(0.5 * (contact[1:] + contact[:-1]) * np.diff(samples.q, axis=0)))
    contacts = [one for one in _found(panda, pushed) if one.kind == "contact"]
    assert len(contacts) == 1
    assert contacts[0].begin == pytest.approx(6.3, abs=0.06)
    assert contacts[0].end == pytest.approx(6.9, abs=0.06)
    assert contacts[0].energy == pytest.approx(brought, rel=0.1, abs=0.2)
    # The joint that felt it most makes up for it.
    felt = contact[:, panda.joint_names.index(contacts[0].text.split("; ")[1].split()[0])]
    effort = contacts[0].evidence["largest_effort"]
    assert effort == pytest.approx(-felt[np.argmax(np.abs(felt))], rel=0.3)
    assert set(contacts[0].as_dictionary()) >= {"kind", "text", "evidence", "begin", "end"}


def test_gaps_shorter_than_a_contact_join_it_and_a_touch_is_none() -> None:
    t = 0.01 * np.arange(200)
    exceeded = np.zeros(200, bool)
    for first, behind in ((10, 20), (45, 50), (81, 90), (120, 128), (160, 164)):
        exceeded[first:behind] = True
    # 0.26 s between the first two; 0.32 s to the next; the last lasts 0.03 s.
    assert _intervals(t, exceeded) == [(10, 50), (81, 90), (120, 128)]
    exceeded[-8:] = True
    assert _intervals(t, exceeded)[-1] == (160, 200)
