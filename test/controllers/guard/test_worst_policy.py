# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""No policy that a search finds gives more than the budget to the walls that an arm touches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from .policy_search import ARMATURE, Call, arm, evaluate, program, scene, search

LONG = (pytest.mark.slow, pytest.mark.timeout(2 * 3600))


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with program(tmp_path_factory.mktemp("worst_policy")) as found:
        if found is None:
            pytest.skip("there is no C++ compiler")
        yield found


@pytest.mark.parametrize("seed", range(3), ids=["panda", "so101", "ur5"])
def test_the_simulated_arm_is_that_of_pinocchio(call: Call, seed: int) -> None:
    given = scene(seed)
    given.walls[3:5] = 10.0  # m: far away
    call("s", *given.words())
    robot = arm(given.name)[0]
    model, limit, rng = robot.pinocchio.copy(), robot.joints.effort, np.random.default_rng(seed)
    model.armature[:] = ARMATURE[given.name]
    q, v = given.start, rng.normal(size=model.nv)
    command = q + rng.normal(scale=0.05, size=model.nv)
    spring, damper = given.stiffness * (command - q), given.damping * v
    force = np.clip(spring, -limit, limit) - damper
    if given.is_total:
        force = np.clip(spring - damper, -limit, limit)
    *acceleration, kinetic = map(float, call("a", q, v, command))
    data = model.createData()
    assert_allclose(acceleration, pin.aba(model, data, q, v, force), rtol=1e-9, atol=1e-9)
    rotors = 0.5 * ARMATURE[given.name] * v @ v
    unarmed = robot.pinocchio
    expected = pin.computeKineticEnergy(unarmed, unarmed.createData(), q, v) + rotors
    assert kinetic == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("seeds", "evaluations"),
    [((4, 11), 60), pytest.param(range(100), 400, marks=LONG)],
    ids=["two", "hundred_searches"],
)
def test_a_search_for_the_worst_policy_finds_none_beyond_the_budget(
    call: Call, seeds: range, evaluations: int
) -> None:
    shares, free, refined, defects = [], [], [], []
    for seed in seeds:
        given = scene(seed)
        found = search(call, given, np.random.default_rng(seed), evaluations)
        assert found.excess <= 1e-9, (seed, found)
        assert found.is_kept, (seed, found)
        finer = evaluate(call, found.policy, finer=4)
        assert max(finer.to_walls, finer.by_servos) <= given.budget + finer.defect + 1e-9, seed
        defects.append(found.defect)
        refined.append(abs(finer.to_walls / given.budget - found.share))
        shares.append(found.share)
        free.append(evaluate(call, found.policy, guarded=False).to_walls / given.budget)
        # The guard in Python grants the same.
        told = evaluate(call, found.policy, log=True)
        guard = given.guard()
        guard.engage(given.start)
        for q, wanted, sent in told.log:
            assert_array_equal(guard.update(q, wanted, given.dt).command, sent)
    print(
        f"{len(shares)} searches of {evaluations} policies: of the budget at most "
        f"{max(shares):.5f}, median {np.median(shares):.3f}; without the guard median "
        f"{np.median(free):.3g}, at most {max(free):.3g}; largest error of the balance "
        f"{max(defects):.1g}, change by steps of a quarter {max(refined):.1g}"
    )
    assert max(defects) < 1e-3  # what was left out of the bound
    assert max(shares) > 0.9  # the searches do take what is there
    assert max(free) > 10.0


def test_the_search_finds_the_gap_of_a_guard_that_trusts_the_stated_stiffness(call: Call) -> None:
    given = replace(scene(4), uncertainty=0.0)
    found = search(call, given, np.random.default_rng(4), 60)
    assert found.excess > 0.05 * given.budget
