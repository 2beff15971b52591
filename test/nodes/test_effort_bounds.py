# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The largest external efforts that a simulated robot can be subjected to."""

import numpy as np
import pytest

from vms_ph_dynamics import StateError
from vms_ph_io import robots
from vms_ph_nodes.simulation.external_efforts import EffortBounds


@pytest.mark.parametrize("name", robots.names())
def test_the_bounds_are_twenty_times_the_weight_and_that_at_the_reach(name: str) -> None:
    model = robots.load(name)
    bounds = EffortBounds.from_model(model)
    assert bounds.force == pytest.approx(20 * 9.81 * model.total_mass)
    rng = np.random.default_rng(1)
    tree, reach = model.tree.pinocchio, 0.0
    first = tree.names[
        tree.supports[tree.frames[model.frame_id(model.end_effector)].parentJoint][1]
    ]
    for _ in range(50):
        d = model.evaluate(model.random_configuration(rng), np.zeros(model.nv))
        away = d.placement(model.end_effector)[:3, 3] - d.placement(first)[:3, 3]
        reach = max(reach, float(np.linalg.norm(away)))
    assert bounds.moment >= bounds.force * reach * 0.999
    assert bounds.moment <= bounds.force * max(4.0 * reach, 0.1)


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("beyond", [1.001, 1e7, 1e155, 1e308])
def test_a_wrench_beyond_its_bound_is_refused_whatever_its_size(at: int, beyond: float) -> None:
    bounds = EffortBounds(100.0, 10.0)
    wrench = np.zeros(6)
    bound = 100.0 if at < 3 else 10.0
    wrench[at] = -bound
    bounds.check_wrench(wrench)
    wrench[at] = -bound * beyond if beyond < 1e300 else -1e308
    with pytest.raises(StateError, match="at most 100 N can" if at < 3 else "at most 10 N m can"):
        bounds.check_wrench(wrench)


def test_a_joint_without_an_effort_limit_is_bounded_too() -> None:
    model = robots.load("prismatic_hopper")
    largest = EffortBounds(100.0, 10.0).joint_bounds(model)
    assert np.isfinite(largest).all()
    assert (largest <= model.joints.effort).all()
