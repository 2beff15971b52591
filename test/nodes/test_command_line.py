# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whatever stands on the command line, it ends with a result or one sentence."""

import errno
import os
import shutil
import sys
import types
from pathlib import Path

import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_io.recordings import read_recording
from vms_ph_nodes.cli import main


@pytest.mark.parametrize(
    "words",
    [
        ["check", "a" * 5000],
        ["bag", "info", "a" * 5000],
        ["bag", "report", "a" * 5000],
        ["launch", "--show-args", "a" * 5000],
        ["launch", "--show-args", "/dev/zero"],
        ["ephs", "draw", "a" * 5000],
        ["check", "panda", "--end-effector", os.fsdecode(b"\xff")],
    ],
)
def test_an_impossible_argument_is_reported(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["vms-ph", *words])
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "a file cannot be written: No space"),
        (PermissionError(errno.EACCES, "Permission denied", "x.png"), "x.png cannot be written: P"),
        (OSError(errno.EROFS, "Read-only file system", "run"), "run cannot be written: Read-only"),
    ],
)
def test_a_full_disk_and_a_forbidden_folder_are_told_in_one_sentence(
    error: OSError, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(prog_name: str) -> None:
        raise error

    monkeypatch.setattr("vms_ph_nodes.cli.app.make_app", lambda: command)
    monkeypatch.setattr(sys, "argv", ["vms-ph"])
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith(f"error: {said}")
    assert told.count("\n") == 1


@pytest.mark.parametrize("value", [{"a": 1}, 10**30, [1, "a"], [10**30], types])
def test_a_value_that_no_parameter_can_have_is_refused(value: object) -> None:
    param = pytest.importorskip("vms_ph_embedded.commands.param")  # a ROS 2 has ros2 param
    with pytest.raises(VmsPhError, match="is no value of a parameter"):
        param._parameter_message("gain", value)


def test_a_bag_is_reported_with_its_energy_balance_and_a_plot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcap")
    bag, plot = Path(__file__).parents[1] / "io/bag/data/earlier_names", tmp_path / "run.png"
    for words in (["bag", "report", str(bag)], ["plot", str(bag), "--out", str(plot)]):
        monkeypatch.setattr(sys, "argv", ["vms-ph", *words])
        with pytest.raises(SystemExit) as ending:
            main()
        assert not ending.value.code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("recorded  2.36 s")
    assert "    joint torques       +0.055572 J" in lines
    assert "    kinetic, task       +0.078213 J" in lines
    assert plot.stat().st_size > 20_000


def test_pictures_of_runs_stand_beside_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcap")
    recorded = Path(__file__).parents[1] / "io/bag/data/earlier_names"
    # What is drawn, the test above shows.
    monkeypatch.setattr("vms_ph_io.audits.plots.plot_run", lambda run, file: None)
    for name in ("first", "second", "run/bag"):
        shutil.copytree(recorded, tmp_path / name)
    for words in ("first", "second", "run", "run/bag"):
        monkeypatch.setattr(sys, "argv", ["vms-ph", "plot", str(tmp_path / words)])
        with pytest.raises(SystemExit) as ending:
            main()
        assert not ending.value.code
    drawn = [Path(line).relative_to(tmp_path) for line in capsys.readouterr().out.splitlines()]
    assert list(map(str, drawn)) == [
        "first_energy.png", "second_energy.png", "run/energy.png", "run/energy.png",
    ]  # fmt: skip
    assert read_recording(tmp_path / "run").path == tmp_path / "run/bag"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["check", "pandda"], "panda"),
        (["demo", "satelite"], "satellite"),
        (["run", "simulatr"], "simulator"),
        (["bag", "export", "{bag}", "{out}", "--topics", "/joint_state"], "/joint_states"),
        (["audit", "{bag}", "--robot", "panda", "--topic", "joints=/joint_state"], "/joint_states"),
    ],
)
def test_the_nearest_name_is_offered_for_a_mistyped_one(
    words: list[str],
    meant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("mcap")
    bag = Path(__file__).parents[1] / "io/bag/data/earlier_names"
    words = [word.format(bag=bag, out=tmp_path / "out") for word in words]
    monkeypatch.setattr(sys, "argv", ["vms-ph", *words])
    with pytest.raises(SystemExit) as ending:
        main()
    assert ending.value.code
    assert f"(did you mean '{meant}'?)" in capsys.readouterr().err
