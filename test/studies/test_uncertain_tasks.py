# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on their own actuators reach the goals of their tasks, with every joule accounted for."""

from typing import Any

import pytest

from vms_ph_dynamics import OptionError
from vms_ph_studies.sweeps.uncertain_task import uncertain_task


@pytest.mark.slow
def test_a_failure_is_explained_by_the_error_without_which_there_is_none() -> None:
    # The arm carries masses that its law does not know, and a delay of 4 ms does not matter.
    found = uncertain_task(task="arm_reach", mass=0.2, delay=0.004, slack=0.1, seed=2)
    assert not found["success"]
    assert found["missed"] == "place"
    assert found["met_without"] == "mass"
    assert uncertain_task(task="arm_reach", delay=0.004, slack=0.1, seed=2)["success"]
    with pytest.raises(OptionError, match="did you mean 'decentralised'"):
        uncertain_task(task="mobile_drive", law="decentralized")


def test_the_baseline_reaches_the_same_goals_where_nothing_is_uncertain() -> None:
    found = uncertain_task(task="mobile_drive", law="decentralised", seconds=8.55, step=0.01)
    assert found["success"], found


def test_on_wheels_the_baseline_ignores_inertial_coupling() -> None:
    def run(law: str) -> dict[str, Any]:
        return uncertain_task(task="wheels_drive", law=law, seconds=7.0, step=0.025, explain=False)

    ours, theirs = run("task"), run("decentralised")
    assert 3.0 * ours["arm"] < theirs["arm"], (ours, theirs)
    with pytest.raises(OptionError, match="settle=-1"):
        uncertain_task(task="arm_reach", settle=-1.0)
