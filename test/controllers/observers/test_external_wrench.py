# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches of steady pushing, on fixed and on flying bases."""

from typing import Any

import numpy as np
import pytest

from vms_ph_controllers.observers import ImpulseBalance, MomentumObserver, NoiseModel, WrenchMap
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from ..support.observed_robots import holding, measured, samples

_DT = 4e-3
_SMALL = NoiseModel(torque=0.02, torque_error=0.01)


def _push(
    name: str, wrench: np.ndarray, noise: NoiseModel, wind: np.ndarray | None = None, **ports: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return estimates over 0.4 s of steady pushing, deviations, and those of the base."""
    model = robots.load(name)
    joints = robots.get(name).home or dict(zip(model.joint_names, (0.3, 0.6, -0.5), strict=False))
    q, rng = model.configuration(joints), np.random.default_rng(0)
    balance, observer = ImpulseBalance(model, noise), MomentumObserver(model, 10.0)
    ports_of = WrenchMap(balance, **ports)

    def outside(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        force = model.evaluate(q, v).J_end_effector.T @ wrench
        if wind is not None:
            force[: model.b] += wind
        return force

    found, base = [], []
    hold = holding(model, q, outside(0.0, q, np.zeros(model.nv)))
    for moment in samples(model, q, hold, outside, _DT, 250, fine=2):
        impulse = balance.add(*measured(model, noise, moment, rng), _DT)
        if impulse is None:
            continue
        force = observer.add(impulse)
        if moment.time > 0.6:
            estimate = ports_of.estimate(force)
            found.append(estimate.end_effector)
            base.append(estimate.base)
    return np.array(found), estimate.deviation, np.array(base), estimate.covariance_base


def _force_error(found: np.ndarray, wrench: np.ndarray) -> float:
    errors = np.linalg.norm((found - wrench)[:, :3], axis=1)
    return float(errors.max() / np.linalg.norm(wrench[:3]))


@pytest.mark.parametrize(
    ("name", "wrench", "noise", "ports"),
    [
        ("panda", [-15.0, 10.0, 20.0, 1.5, 1.0, -0.5], NoiseModel(), {}),
        ("hextilt", [-3.0, 1.0, 2.0, 0.0, 0.0, 0.0], _SMALL, {"wind_force": 0, "wind_moment": 0}),
    ],
    ids=["fixed base", "flying base"],
)
def test_a_steady_push_is_known_within_five_percent_and_within_its_deviations(
    name: str, wrench: list[float], noise: NoiseModel, ports: dict[str, float]
) -> None:
    found, deviation, _, _ = _push(name, np.array(wrench), noise, **ports)
    assert _force_error(found, np.array(wrench)) < 0.05
    errors = np.abs(found - wrench) / deviation
    assert errors.max() < 4.5
    assert errors.mean() > 0.1  # deviations without end would pass too


def test_wind_and_a_push_are_told_apart_as_far_as_the_covariance_says() -> None:
    wind = np.array([1.5, -1.0, 0.5, 0.0, 0.0, 0.0])
    push = np.array([0.5, 0.5, -1.0, 0.0, 0.0, 0.0])
    found, deviation, base, spread = _push("hextilt", push, _SMALL, wind, moment=0.01)
    assert (np.abs(found[-1] - push) < 4.0 * deviation).all()
    assert (np.abs(base[-1] - wind) < 4.0 * np.sqrt(np.diag(spread))).all()
    assert np.sqrt(np.diag(spread))[:3].max() < 1.0


def test_a_direction_that_no_joint_feels_keeps_the_deviation_of_the_prior() -> None:
    model = VMSModel.from_urdf(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<origin xyz="0.3 0 0"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link><joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 0 1"/></joint></robot>'
    )
    balance, q = ImpulseBalance(model), model.neutral_configuration()
    observer = MomentumObserver(model)
    for moment in samples(model, q, holding(model, q), lambda t, q, v: np.zeros(1), _DT, 5):
        impulse = balance.add(*measured(model, NoiseModel(), moment, np.random.default_rng(0)), _DT)
        if impulse is not None:
            estimate = WrenchMap(balance, force=300.0, moment=60.0).estimate(observer.add(impulse))
    deviation = estimate.deviation
    assert deviation[:3] == pytest.approx(300.0)
    assert deviation[5] < 5.0


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_a_wrong_mass_is_within_the_deviations_only_where_it_is_stated(share: float) -> None:
    model = robots.load("panda")
    heavy = model.pinocchio
    for inertia in heavy.inertias:
        inertia.mass *= 1.05
    robot = VMSModel.from_pinocchio(heavy, model.end_effector)
    q = model.configuration(robots.get("panda").home)
    noise = NoiseModel(torque_error=0.01, model_error=share)
    balance, observer = ImpulseBalance(model, noise), MomentumObserver(model, 10.0)
    rng, none = np.random.default_rng(0), np.zeros(7)
    hold = holding(robot, q)
    for moment in samples(robot, q, hold, lambda t, q, v: none, 1e-2, 80, fine=2):
        impulse = balance.add(*measured(model, noise, moment, rng), 1e-2)
        if impulse is not None:
            force = observer.add(impulse)
    errors = np.abs(force.value) / np.sqrt(np.diag(force.covariance))
    assert (errors.max() < 3.0) == (share > 0.0)
