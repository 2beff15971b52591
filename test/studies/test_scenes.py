# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Robots in scenes with contacts reach the goals of their tasks."""

import pytest

from vms_ph_io import scenes
from vms_ph_studies.contact import run_scene


@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_ends_with_its_goals(name: str) -> None:
    assert_reached(run_scene(name, step=2e-3))


@pytest.mark.slow
@pytest.mark.parametrize("name", scenes.names())
def test_a_scene_holds_its_goals_for_a_minute_faster_than_real_time(name: str) -> None:
    found = run_scene(name, seconds=60.0)
    assert_reached(found)
    assert found["real_time_factor"] > 1.0


def assert_reached(found: dict) -> None:  # type: ignore[type-arg]
    assert found["goals"]
    for name, goal in found["goals"].items():
        assert goal["met"], (name, goal)
    through = sum(abs(energy) for energy in found["port_energy"].values())
    # MuJoCo's own error, which the books show, stays small beside what crosses the ports.
    assert abs(found["unaccounted"]) < 0.02 * (through + 1.0)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("wall", 17.0, 20.0),
        pytest.param("table", 8.0, 15.0, marks=pytest.mark.slow),
        pytest.param("ground", 0.0, 1e-3, marks=pytest.mark.slow),
        pytest.param("box", 0.0, 0.1, marks=pytest.mark.slow),
        pytest.param("peg_in_hole", 0.0, 0.05, marks=pytest.mark.slow),
    ],
)
def test_another_law_has_the_springs_of_the_task_under_its_own_names(
    name: str, least: float, most: float
) -> None:
    found = run_scene(name, step=2e-3, controller="TaskSpaceIDAPBC")
    assert found["controller"] == "TaskSpaceIDAPBC"
    for goal in found["goals"].values():
        assert least <= goal["obtained"] <= most
