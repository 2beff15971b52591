# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Legs reach the goals of their hops; falls and mistakes are said."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import ModelError, OptionError, VmsPhError
from vms_ph_hopping import hopping_tasks
from vms_ph_hopping.hopping_run import run_hops
from vms_ph_io.settings import scenes
from vms_ph_io.tasks import robot_tasks
from vms_ph_nodes.cli.app import make_app


@pytest.mark.parametrize("tolerance", [1e-5, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", hopping_tasks.names())
def test_a_leg_hops_as_wanted_with_every_joule_accounted_for(
    name: str, tolerance: float | None
) -> None:
    task = hopping_tasks.load(name)
    found = run_hops(replace(task, tolerance=tolerance or task.tolerance))
    assert found["met"], found["goals"]
    assert found["hops"] >= 3
    assert {"efforts", "unaccounted"} <= set(found["goals"])


@pytest.mark.slow
@pytest.mark.parametrize("name", hopping_tasks.names())
def test_a_leg_hops_so_for_a_minute(name: str) -> None:
    found = run_hops(name, seconds=60.0)
    assert found["met"], found["goals"]
    assert found["hops"] > 100


def test_a_leg_that_falls_has_not_met_its_task() -> None:
    # By controller I nothing keeps it upright.
    task = hopping_tasks.load("hop_in_place")
    start = (task.start[0], task.start[1], task.start[2] + 0.3, task.start[3])
    found = run_hops(replace(task, start=start, law="I", tolerance=1e-3), seconds=3.0)
    assert not found["met"]
    assert "the leg has fallen at" in found["failure"]
    assert found["seconds"] < 3.0


def test_mistakes_are_said_in_a_sentence(tmp_path: Path) -> None:
    assert not set(hopping_tasks.names()) & {*robot_tasks.names(), *scenes.names()}
    task = hopping_tasks.load("hop_in_place")
    for change, said in (
        ({"robot": "panda"}, "'panda' is no leg; legs are prismatic_hopper"),
        ({"robot": "frog"}, "there is no robot 'frog'"),
        ({"law": "IV"}, "one of I, II, III; given: 'IV'"),
        ({"gains": {"K_p": 1.0}}, "has no gains K_p"),
    ):
        with pytest.raises(VmsPhError, match=said):
            run_hops(replace(task, **change))
    with pytest.raises(OptionError, match="seconds=-1"):
        run_hops(task, seconds=-1.0)
    head = "title: a\nrobot: prismatic_hopper\n"
    for text, wrong in (
        (head, "lacks 'goals'"),
        (head + "goals: {g: {of: height, at: 1, within: 1}}", "must be one of apex, speed"),
        (head + "goals: {g: {of: apex, at: 1, within: 0}}", "within of the goal 'g' must be above"),
        (head + "goals: {g: {of: apex, at: 1, within: 1}}\nstart: [1]", r"start .* shape \(4,\)"),
    ):
        own = tmp_path / "own.yaml"
        own.write_text(text)
        with pytest.raises(ModelError, match=wrong):
            hopping_tasks.load(str(own))
    own.write_text(head + "goals: {g: {of: apex, at: 1, within: 1}}\nshortest: 1.6")
    assert "hop_in_place" in hopping_tasks.names()
    assert "arm_reach" not in hopping_tasks.names()
    short = CliRunner().invoke(make_app(), ["demo", str(own), "--seconds", "0.1"])
    assert short.exit_code == 1
    assert "NOT JUDGED, it takes at least 1.6 s" in short.output
