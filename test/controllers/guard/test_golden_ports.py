# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy and the impulse at the ports are those of an integration with 30 digits."""

import json
from pathlib import Path

import numpy as np
import pytest

from vms_ph_controllers import RobotState
from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_controllers.observers import ImpulseBalance, MomentumObserver, NoiseModel
from vms_ph_dynamics import VMSModel

from ..support.golden_two_links import (
    CENTRES,
    DT,
    FILE,
    GRAVITY,
    INERTIAS,
    LENGTHS,
    MASSES,
)

_DT = float(DT)


def _link(name: str, centre: str, mass: str, inertia: str) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{centre} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
    )


def _joint(name: str, parent: str, child: str, at: str, kind: str = "continuous") -> str:
    more = "" if kind == "fixed" else '<axis xyz="0 0 1"/>'
    if kind == "continuous":
        more += '<limit effort="100" velocity="20"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at} 0 0"/>{more}</joint>'
    )


@pytest.fixture(scope="module")
def arm() -> VMSModel:
    """The arm of the golden data."""
    links = "".join(map(_link, ("upper", "lower"), CENTRES, MASSES, INERTIAS))
    joints = (
        _joint("shoulder", "ground", "upper", "0")
        + _joint("elbow", "upper", "lower", LENGTHS[0])
        + _joint("wrist", "lower", "tip", LENGTHS[1], "fixed")
    )
    xml = f'<robot name="two_links"><link name="ground"/>{links}<link name="tip"/>{joints}</robot>'
    return VMSModel.from_urdf(xml, end_effector="tip", gravity=(0.0, -float(GRAVITY), 0.0))


@pytest.fixture(scope="module")
def known(golden: Path) -> dict[str, np.ndarray]:
    assert golden / FILE.name == FILE
    content = json.loads(FILE.read_text())
    rows = np.array(content["rows"]).T
    return {
        "efforts": np.array(content["efforts"]),
        **dict(zip(content["columns"], rows, strict=True)),
    }


def _state(model: VMSModel, known: dict[str, np.ndarray], k: int) -> RobotState:
    angles = np.array([known["q1"][k], known["q2"][k]])
    q = model.integrate(model.neutral_configuration(), angles)
    return RobotState(q, np.array([known["v1"][k], known["v2"][k]]))


@pytest.mark.parametrize("delay", [0, 1, 3])
@pytest.mark.parametrize("carries_weight", [True, False])
def test_the_guard_counts_the_energy_given(
    arm: VMSModel, known: dict[str, np.ndarray], delay: int, carries_weight: bool
) -> None:
    efforts, energy = known["efforts"], known["energy_given"]
    settings = EnergyGuardSettings(tank_capacity=1e4, tank_initial=5e3, engagement_time=0.0)
    guard = PortGuard(arm, settings, delay=delay, period=_DT, effort_carries_weight=carries_weight)
    angles = np.array([known["q1"], known["q2"]])
    start = _state(arm, known, 0)
    guard.engage(start.q, start.v)
    # Before the first effort of the guard acts, it books what holds the robot at rest.
    resting = arm.evaluate(start.q, start.v).g if carries_weight else np.zeros(2)
    booked = np.zeros(len(efforts) + 1)
    for k in range(delay):
        booked[k + 1 :] += (resting - efforts[k]) @ (angles[:, k + 1] - angles[:, k])
    # Where the hardware adds the weight, the account is that of the efforts alone.
    booked += energy + (0.0 if carries_weight else known["weight_work"])
    unseen = 0.0
    for k in range(len(efforts) + 1):
        state = _state(arm, known, k)
        wanted = efforts[min(k + delay, len(efforts) - 1)]
        sent = guard.update(state.q, state.v, wanted, _DT if k else 0.0)
        assert np.array_equal(sent.effort, wanted)
        assert guard.certificate.given == pytest.approx(booked[k], abs=1e-12)
        since = booked[max(0, k - delay - 1) : k + 1]
        unseen = max(unseen, since[-1] - since.min())
    found = guard.certificate
    assert found.weight_work == pytest.approx(known["weight_work"][-1], abs=1e-12)
    assert found.largest_given == pytest.approx(booked.max(), abs=1e-12)
    assert found.largest_unseen == pytest.approx(unseen, abs=1e-12)
    assert found.margin == pytest.approx(5e3 - booked.max(), abs=1e-11)


def test_the_balance_of_momentum_finds_the_impulse_at_the_tip(
    arm: VMSModel, known: dict[str, np.ndarray]
) -> None:
    exact = NoiseModel(*[0.0] * 9)
    balance, observer = ImpulseBalance(arm, exact), MomentumObserver(arm, 30.0)
    joints = np.diff(np.array([known["impulse_1"], known["impulse_2"]]))
    tip = np.diff(np.array([known["impulse_x"], known["impulse_y"]]))
    keep, filtered = np.exp(-30.0 * _DT), np.zeros(2)
    errors, stated, observed = [], [], []
    for k in range(len(known["efforts"]) + 1):
        state = _state(arm, known, k)
        found = balance.add(state, known["efforts"][k - 1], _DT)
        if k == 0:
            assert found is None
            continue
        assert found is not None
        errors.append((found.value - joints[:, k - 1]) / _DT)
        stated.append(found.slow_error / _DT)
        filtered = keep * filtered + (1.0 - keep) * joints[:, k - 1] / _DT
        observed.append(observer.add(found).value - filtered)
        # The mean force at the tip, by the pose in the middle of the sample.
        last = _state(arm, known, k - 1)
        middle = arm.integrate(last.q, 0.5 * arm.difference(last.q, state.q))
        d = arm.evaluate(middle, state.v)
        force = np.linalg.solve(d.J_end_effector[:2].T, found.value / _DT)
        force = d.placement("tip")[:2, :2] @ force
        np.testing.assert_allclose(force, tip[:, k - 1] / _DT, atol=0.1)
    largest = np.abs(errors).max(axis=0)
    # An estimate from the samples before, in which the efforts jump as well.
    assert (largest <= 2.0 * np.max(stated, axis=0)).all()
    # The trapezoidal rule: of second order in the sample.
    assert largest.max() < 0.03
    assert np.abs(observed).max() < 0.02
