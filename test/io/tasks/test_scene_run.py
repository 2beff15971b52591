# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots in scenes with contacts reach the goals of their tasks."""

from pathlib import Path

import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_io.installation import share_directory
from vms_ph_io.settings import scenes
from vms_ph_io.tasks.scene_run import run_scene


@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_ends_with_its_goals(name: str) -> None:
    assert_reached(run_scene(name, step=2e-3))


# The scenes with an arm on a fixed base.
OTHERS = ("box", "ground", "peg_in_hole", "table", "wall")


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("peg_in_hole", "wall") else pytest.param(name, marks=pytest.mark.slow)
        for name in OTHERS
    ],
)
def test_a_law_that_holds_a_position_alone_reaches_the_same_goals(name: str) -> None:
    found = run_scene(name, step=2e-3, controller="TaskSpaceIDAPBC")
    assert found["controller"] == "TaskSpaceIDAPBC"
    assert_reached(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "controller"),
    [*((name, "") for name in scenes.names()), *((name, "TaskSpaceIDAPBC") for name in OTHERS)],
)
def test_a_scene_holds_its_goals_for_a_minute_faster_than_real_time(
    name: str, controller: str
) -> None:
    found = run_scene(name, seconds=60.0, controller=controller)
    assert_reached(found)
    assert found["real_time_factor"] > 1.0


def assert_reached(found: dict) -> None:  # type: ignore[type-arg]
    assert found["goals"]
    for name, goal in found["goals"].items():
        assert goal["met"], (name, goal)
    through = sum(abs(energy) for energy in found["port_energy"].values())
    # MuJoCo's own error, which the books show, stays small beside what crosses the ports.
    assert abs(found["unaccounted"]) < 0.02 * (through + 1.0)


def test_a_law_for_which_the_scene_says_nothing_has_the_springs_of_the_task_by_its_own_names(
    tmp_path: Path,
) -> None:
    text = (share_directory() / "config/scenes/wall.yaml").read_text().split("  laws:")[0]
    own = tmp_path / "own.yaml"
    own.write_text(text)
    found = run_scene(str(own), step=2e-3, controller="TaskSpaceIDAPBC")
    # The tip is not the point that it controls, so that some of the force turns the hand.
    assert 17.0 < found["goals"]["force"]["obtained"] < 19.0


def test_a_law_for_arms_on_a_fixed_base_is_refused_by_a_flying_one() -> None:
    with pytest.raises(VmsPhError, match="for arms on a fixed base"):
        run_scene("drone_wall", controller="TaskSpaceIDAPBC")
