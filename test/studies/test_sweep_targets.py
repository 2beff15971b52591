# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The targets of sweeps that this project brings."""

import math

import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_studies.sweeps.closed_loop import closed_loop
from vms_ph_studies.sweeps.target import Target


def run(**given: object) -> dict[str, float]:
    found = closed_loop(**{"seconds": 0.06, "force_duration": 0.03, **given})  # type: ignore[arg-type]
    assert found["holding_share"] == 0.0
    assert abs(float(str(found["balance_error"]))) < 1e-9
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("robot", ["panda", "hextilt"])
def test_a_robot_is_moved_by_its_push_alone(robot: str) -> None:
    still = run(robot=robot, force=(0, 0, 0))
    assert still["peak_displacement"] < 1e-6
    assert still["supplied_wrench_end_effector"] == 0.0
    pushed = run(robot=robot, force=(1, 0, 0))
    assert pushed["peak_displacement"] > 1e-5
    assert pushed["supplied_wrench_end_effector"] > 0.0
    # The force acts for its time only: a longer one moves the robot further.
    longer = run(robot=robot, force=(1, 0, 0), force_duration=0.05)
    assert longer["peak_displacement"] > 1.2 * pushed["peak_displacement"]


def test_what_the_law_does_not_know_makes_the_arm_sag() -> None:
    sags = [run(force=(0, 0, 0), payload=mass)["final_displacement"] for mass in (0, 0.1, 0.2)]
    assert sags[0] < 1e-9
    assert sags[2] == pytest.approx(2 * sags[1], rel=0.05)
    assert run(force=(0, 0, 0), inertia_scale=1.1)["final_displacement"] > 1e-4


def test_a_random_start_follows_from_its_seed() -> None:
    first, again, other = (
        run(spread=0.1, seed=seed, gains={"stiffness": 20}) for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


def test_a_gain_changes_the_response() -> None:
    soft, stiff = (
        run(gains={"stiffness": value}, seconds=0.2)["peak_displacement"] for value in (1, 300)
    )
    assert soft > 1.05 * stiff


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gains": {"stifness": 1.0}}, "no gain 'stifness' (did you mean 'stiffness'?)"),
        ({"gains": {"stiffness": -1.0}}, "gain stiffness=-1: accepted are"),
        ({"positions": {"panda_joint9": 1.0}}, "did you mean 'panda_joint"),
        ({"force": (1.0,)}, "expected three numbers"),
        ({"payload": -1.0}, "a payload of at least zero"),
        ({"step": 0.0}, "a step above zero"),
        ({"robot": "pandda"}, "pandda"),
        ({"robot": "bluerov2_alpha5", "payload": 1.0}, "a fluid"),
    ],
)
def test_a_value_that_is_not_accepted_is_named(given: dict[str, object], said: str) -> None:
    with pytest.raises(VmsPhError) as caught:
        closed_loop(**given)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_a_start_is_given_by_joints() -> None:
    found = [
        run(positions={"panda_joint4": angle}, force=(0, 0, 0), payload=0.2)["final_displacement"]
        for angle in (-1.0, -2.0)
    ]
    assert not math.isclose(found[0], found[1], rel_tol=1e-3)


def test_a_published_study_is_a_target_with_its_checks_as_results() -> None:
    target = Target.of("reproduce rashad-equivalence")
    target.check(["states", "robot"])
    with pytest.raises(VmsPhError, match=r"'robott' \(did you mean 'robot'\?\)"):
        target.check(["robott"])
    found = target.evaluate({"states": 2, "robot": "hextilt"}, 0)
    assert isinstance(found, dict)
    assert found["differing checks"] == 0
    assert len(found) > 10
