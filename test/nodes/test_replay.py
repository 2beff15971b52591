# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded runs on a page: what is shown at a time, a second run, findings, files of a user."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_io.audits import audit, recorded_robot
from vms_ph_io.recordings import RecordingError, read_recording
from vms_ph_io.robots.robot_settings import RobotSettings

from .test_audit_command import record

viser = pytest.importorskip("viser")
from vms_ph_nodes.cli.app import make_app  # noqa: E402
from vms_ph_nodes.cli.bag import find_recordings  # noqa: E402
from vms_ph_nodes.views.replay import RecordedRun, Replay  # noqa: E402


def _load(path: Path) -> RecordedRun:
    settings = RobotSettings("panda")
    description = settings.description()
    recording = read_recording(path)
    return RecordedRun(path, audit(recording, settings.model(description)), description)


@pytest.fixture(scope="module")
def bags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    record(folder / "a")
    record(folder / "b", shift=0.4)
    return folder


@pytest.fixture(scope="module")
def run(bags: Path) -> RecordedRun:
    return _load(bags / "a")


@pytest.fixture(scope="module")
def made(bags: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    yield Replay(server, [bags / "a", bags / "b"], _load)
    server.stop()


@pytest.fixture
def page(made: Any) -> Any:
    made._play_checkbox.value, made._loop_checkbox.value = False, True
    made._open_run(next(iter(made._paths)))
    return made


def _angle(scene: Any) -> float:
    """Return the angle of the first joint as it is drawn."""
    w, _, _, z = scene._frames["panda_link1"].wxyz
    return float(2.0 * np.arctan2(z, w))


def test_the_pose_at_a_time_is_the_recorded_one(run: RecordedRun) -> None:
    assert run.duration == pytest.approx(1.995)
    for time in (0.0, 0.52, 1.3, 5.0):
        q = run.configuration(time)
        assert q[0] == pytest.approx(np.sin(3.0 * min(time, run.duration)), abs=1e-6)


def test_the_flow_of_a_run_adds_up_to_its_accuracy(run: RecordedRun) -> None:
    for time in (0.0, 0.5, 1.2):
        flow = run.flow(time)
        sources = sum(each.power for each in flow.sources)
        sinks = sum(each.power for each in flow.sinks)
        assert abs(sinks) > 0.01
        assert sources == pytest.approx(sinks, rel=0.02)


def test_findings_are_in_the_order_of_time_and_within_the_run(run: RecordedRun) -> None:
    # The efforts are zero, and the joint swings: energy appears.
    times = [finding.time for finding in run.findings]
    assert len(times) > 1
    assert times == sorted(times)
    assert 0.0 <= times[0] <= times[-1] <= run.duration
    largest = next(finding for finding in run.findings if "largest unaccounted" in finding.text)
    time, groups = run.curves(1000)
    unaccounted = np.abs(groups["energy balance"][1]["unaccounted"])
    assert time[unaccounted.argmax()] == pytest.approx(largest.time, abs=0.01)


def test_scrubbing_shows_the_recorded_pose(page: Any) -> None:
    page._set_time(0.5)
    page.step(1.0)
    assert _angle(page._scene) == pytest.approx(np.sin(1.5), abs=1e-6)
    assert "torque" in page._top_html.content
    name = next(iter(page._paths))
    assert "at 0.50 s" in page._top_html.content
    assert f"{name}, over all 2.0 s" in page._head_html.content


def test_playing_goes_on_at_its_speed_and_begins_again_in_a_loop(page: Any) -> None:
    page._play_checkbox.value, page._speed_choice.value = True, "0.5"
    page.step(1.0)
    assert page.time == pytest.approx(0.5)
    assert _angle(page._scene) == pytest.approx(np.sin(1.5), abs=1e-6)
    page._speed_choice.value = "5"
    page.step(1.0)
    assert page.time == 0.0
    page._loop_checkbox.value = False
    page.step(1.0)
    assert page.time == pytest.approx(1.995)
    assert not page._play_checkbox.value


def test_a_second_run_is_a_ghost_at_the_same_time(page: Any) -> None:
    page._compare(next(name for name in page._paths if name.endswith("/b")))
    page._set_time(0.5)
    page.step(0.0)
    assert _angle(page._ghost_scene) == pytest.approx(np.sin(3.0 * 0.1), abs=1e-6)
    assert _angle(page._scene) == pytest.approx(np.sin(1.5), abs=1e-6)
    assert "ghost" in page._head_html.content
    page._compare("none")
    assert page._ghost_scene is None
    assert "ghost" not in page._head_html.content


def test_runs_in_folders_of_the_same_name_are_both_there(bags: Path, tmp_path: Path) -> None:
    paths = [tmp_path / day / "run" / "bag" for day in ("mon", "tue")]
    for path, recorded in zip(paths, ("a", "b"), strict=True):
        path.parent.mkdir(parents=True)
        path.symlink_to(bags / recorded)
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        page = Replay(server, paths, _load, compare=True)
        assert [*page._paths.values()] == paths
        assert page._run is not None
        assert page._ghost_run is not None
        assert (page._run.path, page._ghost_run.path) == (paths[0], paths[1])
    finally:
        server.stop()


def test_the_curves_of_the_report_can_be_plotted_beside_those_of_the_ghost(page: Any) -> None:
    page._compare(next(name for name in page._paths if name.endswith("/b")))
    for choice in page._plot_choice.options:
        page._plot_choice.value = choice
        labels = [str(s["label"]) for drawing in page._curve_plots for s in drawing.series]
        assert any(label.endswith(", ghost") for label in labels) or "residual" in choice
        assert all(len(d.data) == len(d.series) for d in page._curve_plots)
        for drawing in page._curve_plots:
            styles = {s["label"]: (s["stroke"], s.get("dash")) for s in drawing.series[1:]}
            for label, (stroke, dash) in styles.items():
                own = label.removesuffix(", ghost")
                if own != label and own in styles:
                    assert (stroke, dash) == (styles[own][0] + "80", styles[own][1])
    page._plot_choice.value = page._plot_choice.options[0]
    page._compare("none")


def test_a_jump_goes_to_a_finding(page: Any) -> None:
    finding = page._run.findings[-1]
    chosen = next(text for text in page._finding_choice.options if finding.text in text)
    page._jump_to(chosen)
    assert page.time == pytest.approx(finding.time, abs=0.006)


def test_a_file_that_is_no_recording_is_refused_in_a_sentence(page: Any, tmp_path: Path) -> None:
    file = tmp_path / "no.mcap"
    file.write_bytes(b"no bag <b>")
    page._paths["no.mcap"] = file
    before = page._run
    page._open_run("no.mcap")
    assert "cannot be shown" in page._head_html.content
    assert page._run is before


def test_folders_stand_for_the_recordings_in_them(bags: Path, tmp_path: Path) -> None:
    assert set(find_recordings([bags])) == {bags / "a", bags / "b"}
    assert find_recordings([bags / "b", bags / "b"]) == [bags / "b"]
    for wrong in (tmp_path, tmp_path / "missing"):
        with pytest.raises(VmsPhError, match="no recording"):
            find_recordings([wrong])


def test_the_command_refuses_what_is_no_recording(tmp_path: Path) -> None:
    done = CliRunner().invoke(make_app(), ["bag", "view", str(tmp_path / "missing")])
    assert done.exit_code != 0
    assert isinstance(done.exception, VmsPhError | typer.Exit | SystemExit)


def test_a_recording_without_a_robot_is_refused(bags: Path) -> None:
    with pytest.raises((VmsPhError, RecordingError), match="--robot"):
        recorded_robot(read_recording(bags / "a"), RobotSettings())


def test_now_is_an_upright_line_from_below_the_axis_to_above_it(page: Any) -> None:
    page._set_time(0.5)
    page.step(0.0)
    for drawing in page._curve_plots:
        time, *curves, now = drawing.data
        bottom, top = drawing.scales["y"]["range"]
        assert bottom < top
        assert all(bottom <= column.min() and column.max() <= top for column in curves)
        assert np.isfinite(now).all()
        marked = now > top
        assert marked.sum() == 1
        assert time[marked.argmax()] == pytest.approx(0.5, abs=0.02)
        assert (now[~marked] < bottom).all()
