# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What laws in Python have computed in C++ is what they compute themselves."""

from dataclasses import astuple, fields
from types import ModuleType

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    DecoupledVMSController,
    MobileManipulation,
    PoseIDAPBC,
    PushingImpedance,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_controllers.laws.sampled_impedance import SampledImpedance, brake
from vms_ph_controllers.laws.task_effort import SplitMotion, split_motion
from vms_ph_controllers.references.reference_governor import ReferenceGovernor
from vms_ph_controllers.safety.plausibility import Judgement, StatePlausibility
from vms_ph_controllers.safety.sample_grant import Prediction, SamplePredictor
from vms_ph_dynamics import Array, PositionTask, VMSModel
from vms_ph_io import robots

from .conftest import native_model
from .test_supervisor import _faults

BASES = ("panda", "omnidirectional_panda", "hextilt")


def twins(name: str) -> tuple[VMSModel, VMSModel]:
    """A robot in Python and the same one on the core."""
    model = robots.load(name)
    return model.with_native(False), model.with_native(True)


def moving(model: VMSModel, rng: np.random.Generator) -> tuple[Array, Array]:
    return model.random_configuration(rng), rng.normal(size=model.nv)


@pytest.mark.parametrize("name", BASES)
def test_the_power_that_raises_a_robot_elsewhere_is_the_same(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    python, core = twins(name)
    for _ in range(20):
        q, v = moving(python, rng)
        ahead = python.random_configuration(rng)
        expected, found = python.evaluate(q, v), core.evaluate(q, v)
        assert found.lifting_power(ahead) == pytest.approx(
            expected.lifting_power(ahead), rel=1e-11, abs=1e-10
        )


@pytest.mark.parametrize("stiffness", [1.0, 1e4])
@pytest.mark.parametrize("name", BASES)
def test_what_is_held_is_the_same(
    native: ModuleType, name: str, stiffness: float, rng: np.random.Generator
) -> None:
    python, core = twins(name)
    for _ in range(10):
        q, v = moving(python, rng)
        # In the measure of the mass matrix, in which stiffness is reduced.
        half = np.linalg.cholesky(python.evaluate(q, v).M) @ rng.normal(size=(2, *2 * [python.nv]))
        damping, spring = (each @ each.T for each in half)
        drift = rng.normal(size=python.nv)
        for h, more in [(0.0, ()), (1e-3, ()), (0.05, ()), (0.05, (drift,))]:
            given = damping, stiffness * spring, rng.normal(size=python.nv), v, h, *more
            expected = SampledImpedance.at(python.evaluate(q, v), *given)
            found = SampledImpedance.at(core.evaluate(q, v), *given)
            assert found.reason == expected.reason
            for part in ("spring", "velocity", "predicted_spring"):
                one, other = getattr(expected, part), getattr(found, part)
                np.testing.assert_allclose(
                    other, one, rtol=1e-8, atol=1e-9 * (1.0 + np.abs(one).max())
                )


@pytest.mark.parametrize("name", BASES)
def test_the_brake_takes_out_the_same(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    python, core = twins(name)
    for _ in range(10):
        q, v = moving(python, rng)
        for h in (0.0, 1e-3, 0.5):
            for turning in (None, rng.normal(size=python.nv)):
                one, other = (brake(m.evaluate(q, v), h, turning) for m in (python, core))
                np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)
                assert (h > 0.0 and turning is not None) <= bool(np.abs(one).max() > 0.0)


@pytest.mark.parametrize("name", BASES)
def test_the_work_of_a_sample_is_predicted_alike(
    native: ModuleType, name: str, rng: np.random.Generator
) -> None:
    models = twins(name)
    known = set()
    for k in range(30):
        q, v = moving(models[0], rng)
        force, unheld = 30.0 * rng.normal(size=(2, models[0].nv))
        budget, dt = rng.uniform(-1.0, 1.0), rng.choice([1e-3, 0.05])
        if k % 5 == 0:  # too fast to be predicted, or in several steps
            v *= rng.choice([1e3, 30.0])
        found = []
        for model in models:
            prediction = SamplePredictor(model)
            prediction.start_at(model.evaluate(q, v), unheld, budget, dt)
            found.append(prediction.predict(force))
        one, other = found
        known.add(bool(np.isfinite(one.deficit)))
        for item in fields(Prediction):
            expected = np.asarray(getattr(one, item.name))
            size = 1.0 + np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
            np.testing.assert_allclose(
                getattr(other, item.name), expected, rtol=1e-9, atol=1e-9 * size
            )
    assert known == {True, False}


def test_a_minimum_follows_its_reference_alike(native: ModuleType, parity: ModuleType) -> None:
    model = twins("panda")[0]
    robot = native_model(native, model)
    governor = ReferenceGovernor(model, PositionTask(model), 0.03)
    home = model.configuration(robots.get("panda").home)
    governor.restart(home)
    far = set()
    targets = [[0.4, 0.2, 0.5], [2.0, 0.0, 0.5], [0.3, -0.3, 0.3]]  # one out of reach
    for target in np.repeat(targets, 200, axis=0):
        before = governor.minimum
        step = target - before.x
        length = np.linalg.norm(step)
        if length < 1e-9:
            continue
        step *= min(1.0, 0.005 / length)
        found = parity.minimum_step(robot, before.q, before.x, step, home, 0.03, 0.01, 0.005, 0.05)
        governor.minimum = governor.propose(Reference(position=target), 0.01, 0.5, 0.05)
        q, x, is_settled, is_out_of_reach = found
        assert (is_settled, is_out_of_reach) == (governor._is_settled, governor.is_out_of_reach)
        far.add(is_out_of_reach)
        np.testing.assert_allclose(q, governor.minimum.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(x, governor.minimum.x, rtol=0, atol=1e-12)
    assert far == {True, False}
    assert np.abs(x - targets[-1]).max() < 1e-6


def test_a_motion_is_split_in_the_same_way_through_singularities(
    parity: ModuleType, rng: np.random.Generator
) -> None:
    model = twins("panda")[0]
    task = PositionTask(model)
    regular = set()
    for k in range(40):
        q, v = moving(model, rng)
        d = model.evaluate(q, v)
        jacobian = np.array(task.jacobian(d))
        if k % 4 == 0:  # a direction is lost, exactly or nearly
            jacobian[2] = 0.5 * jacobian[0] + rng.choice([0.0, 1e-9, 1e-3]) * jacobian[1]
        expected = split_motion(d, jacobian, 0.1)
        found = SplitMotion(jacobian, *parity.split(d.M, d.v, d.momentum, jacobian, 0.1))
        regular.add(expected.is_regular)
        assert found.is_regular == expected.is_regular
        parts = ["eta", "null_velocity", "kinetic_null", "sigma_min"]
        if expected.is_regular:  # otherwise it depends on the sign of a singular vector
            parts.append("pseudo_inverse")
        for part in parts:
            np.testing.assert_allclose(
                getattr(found, part), getattr(expected, part), rtol=1e-9, atol=1e-9
            )
        one, other = (m.null_map.T @ m.null_map for m in (expected, found))
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)
    assert regular == {True, False}


@pytest.mark.parametrize("name", BASES)
def test_states_are_judged_alike(native: ModuleType, name: str, rng: np.random.Generator) -> None:
    python = robots.load(name).with_native(False)
    expected = StatePlausibility(python)
    found = native.StatePlausibility(native_model(native, python), {})
    q, v = moving(python, rng)
    for each in (expected, found):
        each.restart(q, 0.0 * v)
    v *= 1e-2
    reasons = set()
    farthest: list[float] = []
    for k in range(400):
        q = python.integrate(q, 1e-3 * v)
        measured = q.copy(), v.copy(), 1e-3
        if k % 20 < 6:
            faults = _faults(rng, python.nv)
            with np.errstate(all="ignore"):
                measured = faults[(k // 20) % len(faults)](*measured[:2])
        one, judged = expected.judge(*measured), found.judge(*measured)
        other = Judgement("", *measured[:2]) if judged is None else Judgement(*judged)
        assert (other.reason, other.needs_restart) == (one.reason, one.needs_restart)
        np.testing.assert_allclose(other.q, one.q, rtol=1e-12, atol=1e-12)
        # The sign of a velocity that the positions confirm is lost beside numbers of 1e155.
        farthest = [float(np.abs(measured[0]).max()), *farthest[:1]]
        if not max(farthest) > 1e6:
            np.testing.assert_allclose(other.v, one.v, rtol=1e-9, atol=1e-9)
        reasons.add(one.reason)
    assert len(reasons) > 5
    nothing = None, "none", 1e-3
    for each in (expected, StatePlausibility(robots.load(name))):
        assert each.judge(*nothing).reason == "its size is not that of this robot"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (TaskSpaceIDAPBC, "panda"),
        (DecoupledVMSController, "hextilt"),
        *((CartesianImpedance, name) for name in BASES),
        *((PoseIDAPBC, name) for name in BASES),
        (PushingImpedance, "panda"),
        (MobileManipulation, "omnidirectional_panda"),
    ],
)
def test_a_guarded_law_in_python_is_the_same_on_the_core(
    native: ModuleType, law: type, name: str, rng: np.random.Generator
) -> None:
    known = robots.get(name)
    python, core = twins(name)
    guards = [Supervisor(law(model)) for model in (python, core)]
    q, v = python.configuration(known.home), np.zeros(python.nv)
    for guard in guards:
        guard.reset(RobotState(q, v))
    for k in range(60):
        v = 0.9 * v + 0.05 * rng.normal(size=python.nv)
        q = python.integrate(q, 1e-3 * v)
        asked = Reference(velocity=np.array([0.1, 0.0, 0.05])) if 30 <= k < 40 else Reference()
        if k == 20:
            asked = Reference(joints=python.joint_positions(q), position=np.array([0.4, 0.1, 0.5]))
        one, other = (guard.update(RobotState(q, v), asked, 1e-3) for guard in guards)
        assert (other.status, other.reason) == (one.status, one.reason)
        size = 1.0 + np.abs(np.concatenate([one.wrench_base, one.torque])).max()
        np.testing.assert_allclose(other.torque, one.torque, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(other.wrench_base, one.wrench_base, rtol=0, atol=1e-9 * size)
        energies = np.array([astuple(command.energy) for command in (one, other)])
        size = 1.0 + np.abs(energies).max()
        np.testing.assert_allclose(energies[1], energies[0], rtol=0, atol=1e-9 * size)
