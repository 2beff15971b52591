# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on their own actuators reach the goals of their tasks, with every joule accounted for."""

import json
from pathlib import Path

from typer.testing import CliRunner

from vms_ph_io import share_directory
from vms_ph_io.tasks import robot_tasks
from vms_ph_nodes.cli.app import make_app


def test_the_demo_ends_with_exit_code_1_where_a_goal_is_not_met(tmp_path: Path) -> None:
    text = (share_directory() / "config/tasks/arm_reach.yaml").read_text()
    soon = text.replace("after: 9.0", "after: 0.6").replace("shortest: 9.5", "shortest: 0.8")
    for within, code in (("0.5", 0), ("1.0e-14", 1)):
        own = tmp_path / "own.yaml"
        own.write_text(soon.replace("within: 0.005", f"within: {within}"))
        done = CliRunner().invoke(make_app(), ["demo", str(own), "--seconds", "0.8", "--json"])
        assert done.exit_code == code, done.output
        assert json.loads(done.output)["met"] is (code == 0)
    short = CliRunner().invoke(make_app(), ["demo", "arm_reach", "--seconds", "0.1"])
    assert short.exit_code == 1
    assert "NOT JUDGED, it takes at least 9.5 s" in short.output
    listed = CliRunner().invoke(make_app(), ["demo", "--list"]).output
    for name in (*robot_tasks.names(), "wall"):
        assert name in listed
    for words, said in (
        (["demo", "hextilt"], "'hextilt' is a robot; its tasks are drone, flight_inspect"),
        (["demo", "arm_reach", "--robot", "panda"], "a task has no option --robot"),
        (["demo", "moon"], "there is no task 'moon'"),
    ):
        refused = CliRunner().invoke(make_app(), words)
        assert said in str(refused.exception)
