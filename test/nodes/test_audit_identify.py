# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph audit --identify, as a user types it."""

import json
import re
import shlex
from html import escape
from pathlib import Path

import numpy as np
import pytest
from dynamics.identification.known_truth import Truth, random_truth, recording
from typer.testing import CliRunner, Result

from vms_ph_dynamics import VmsPhError
from vms_ph_io import load_urdf, robots
from vms_ph_io.audits.identified import read_prior
from vms_ph_nodes.cli.app import make_app


def typed(*words: object) -> Result:
    return CliRunner().invoke(make_app(), ["audit", *map(str, words), "--robot", "panda"])


@pytest.fixture(scope="module")
def truth() -> Truth:
    return random_truth(robots.load("panda"), np.random.default_rng(5), 1.5)


@pytest.fixture(scope="module")
def file(truth: Truth, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(truth, tmp_path_factory.mktemp("recording") / "run.csv")


def written(
    truth: Truth, path: Path, zero: float | np.ndarray = 0.0, unit: float | np.ndarray = 1.0
) -> Path:
    model = robots.load("panda")
    samples = recording(model, truth, np.random.default_rng(6), duration=9.0)
    kinds = ("position", "velocity", "effort")
    header = ["time", *(f"{kind}.{joint}" for kind in kinds for joint in model.joint_names)]
    rows = np.column_stack([samples.t, samples.q + zero, samples.v, samples.torque / unit])
    np.savetxt(path, rows, delimiter=",", header=",".join(header), comments="", fmt="%.9g")
    return path


def test_payload_and_friction_are_printed_as_one_document(file: Path, truth: Truth) -> None:
    done = typed(file, "--identify", "payload,friction", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    mass = document["identified"]["payload_mass"]
    assert mass["low"] <= truth.values["payload_mass"] <= mass["high"]
    assert mass["value"] == pytest.approx(truth.values["payload_mass"], rel=0.02)
    assert mass["unit"] == "kg"
    assert mass["energy"]["agrees"] is True
    assert "friction.panda_joint2.viscous" in document["identified"]
    assert document["identified"]["largest_unaccounted"] < 0.01 * document["gross"]
    (one,) = document["findings"]
    assert one["text"].startswith("the robot seems to carry ")


def test_a_load_is_told_without_being_asked_for(file: Path, truth: Truth) -> None:
    document = json.loads(typed(file, "--json").stdout)
    (text,) = [text for text in document["answers"] if "The robot seems to carry" in text]
    assert float(text.split()[5]) == pytest.approx(truth.values["payload_mass"], rel=0.03)
    assert not document["identified"]


def test_gains_are_printed_as_one_document_without_load_friction_if_asked(
    tmp_path: Path,
) -> None:
    bare = random_truth(robots.load("panda"), np.random.default_rng(5), 1e-9)
    asked = (written(bare, tmp_path / "bare.csv"), "--identify", "gains,friction", "--json")
    found = json.loads(typed(*asked).stdout)["identified"]
    assert found["gain.panda_joint2"]["energy"]["agrees"] in (True, False)
    name = "friction.panda_joint2.load"
    assert name in {*found, *found["not_excited"]}
    found = json.loads(typed(*asked, "--no-load-friction").stdout)["identified"]
    assert name not in {*found, *found["not_excited"]}


def test_gains_of_a_robot_with_a_load_that_nobody_told_of_are_unsure_in_the_first_sentences(
    file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("plotly")
    done = typed(file, "--identify", "gains,friction", "--json", "--out", tmp_path)
    document = json.loads(done.stdout)
    assert any("unsure, because an unknown load" in said for said in document["answers"])
    assert not [name for name in document["identified"] if name.startswith(("gain", "friction"))]


@pytest.mark.parametrize(("unit", "share"), [(1.0, 0.1), (11.0, 0.5)])
def test_the_command_that_an_audit_prints_runs_as_it_stands_and_closes_more_of_the_balance(
    tmp_path: Path, unit: float, share: float
) -> None:
    pytest.importorskip("plotly")
    bare = random_truth(robots.load("panda"), np.random.default_rng(5), 1e-9)
    file = written(bare, tmp_path / "a run.csv", unit=unit)
    kinds = "friction" if unit == 1.0 else "gains,friction"
    done = typed(file, "--identify", kinds, "--out", tmp_path / "report")
    (command,) = [line for line in done.output.splitlines() if line.startswith("Do this: vms-ph ")]
    page = re.sub("</?nobr>", "", (tmp_path / "report/audit.html").read_text())
    assert f"<code>{escape(command[9:])}</code>" in page
    again = CliRunner().invoke(make_app(), shlex.split(command)[3:])
    assert again.exit_code == 0, again.output
    folders = tmp_path / "report", tmp_path / "report/again"
    before, after = (json.loads((folder / "audit.json").read_text()) for folder in folders)
    opened = [x["largest_unaccounted"]["value"] / x["gross"] for x in (before, after)]
    assert opened[1] < share * opened[0]


def test_of_a_joint_whose_zero_is_off_by_a_quarter_turn_nothing_is_claimed_and_no_file_written(
    truth: Truth, tmp_path: Path
) -> None:
    pytest.importorskip("plotly")
    file = written(truth, tmp_path / "turned.csv", zero=np.pi / 2 * np.eye(7)[3])
    done = typed(file, "--identify", "payload,friction", "--json", "--out", tmp_path / "out")
    document = json.loads(done.stdout)
    text = "anda_joint4: its zero is off by about 90 degrees from that of the model"
    assert any(text in said for said in document["answers"])
    assert text in document["identified"]["not_excited"]["payload_mass"]
    assert not [x for x in document["identified"].values() if isinstance(x, dict) and "low" in x]
    assert not {"prior.json", "identified.urdf"} & {
        path.name for path in (tmp_path / "out").iterdir()
    }


def test_what_was_identified_is_left_in_files_that_the_tools_take(
    file: Path, truth: Truth, tmp_path: Path
) -> None:
    pytest.importorskip("plotly")
    out = tmp_path / "report"
    done = typed(file, "--identify", "payload,friction", "--out", out)
    assert done.exit_code == 0, done.output
    assert "payload_mass" in done.output
    assert "finding    the robot seems to carry" in done.output
    assert "covers the noise of this recording, not what changes" in done.output
    page = (out / "audit.html").read_text()
    assert "What the recording tells of the model" in page
    # The URDF has the load and the friction; with the file of the friction the audit closes.
    better = load_urdf(out / "identified.urdf")
    carried = better.total_mass - robots.load("panda").total_mass
    assert carried == pytest.approx(truth.values["payload_mass"], rel=0.02)
    words = (file, "--robot", out / "identified.urdf", "--friction", out / "friction.yaml")
    again = CliRunner().invoke(make_app(), ["audit", "--json", *map(str, words)])
    assert again.exit_code == 0, again.output
    found = json.loads(again.stdout)
    assert found["largest_unaccounted"]["value"] < 0.01 * found["gross"]
    # The belief is the prior of another identification.
    done = typed(file, "--identify", "payload", "--prior", out / "prior.json", "--json")
    mass = json.loads(done.stdout)["identified"]["payload_mass"]
    assert mass["low"] <= truth.values["payload_mass"] <= mass["high"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--identify", "colour"), "colour cannot be identified; choose from payload, friction"),
        (("--identify", "gains,inertia"), "fix each other's scale only"),
        (("--identify", "payload", "--payload-frame", "tray"), "tray"),
        (("--identify", "payload", "--prior", __file__), "is no prior of an identification"),
        (("--identify", "payload", "--prior", "nowhere.json"), "cannot be read"),
        (("--prior", "nowhere.json"), "need --identify"),
        (("--identify", "payload", "--reference", "a.csv"), "must have the form FILE=KG"),
        (("--identify", "payload", "--reference", "a.csv=-1"), "must have the form FILE=KG"),
        (("--reference", "a.csv=0"), "need --identify"),
        (("--effort", "panda_joint1=x"), "--effort must be name=number"),
        (("--effort", "panda_joint1=nan"), "--effort must be name=number"),
        (("--effort", "panda_joint1=0"), "gains of efforts must be numbers other than 0"),
        (("--effort", "panda_joint1=2 panda_joint1=3"), "--effort names panda_joint1 twice"),
    ],
)
def test_mistakes_are_said_in_one_sentence(file: Path, words: tuple[str, ...], said: str) -> None:
    done = typed(file, *words)
    assert done.exit_code != 0
    assert isinstance(done.exception, VmsPhError)
    assert said in str(done.exception)


def test_references_widen_the_interval_of_a_load_and_are_kept_in_the_belief(
    file: Path, truth: Truth, tmp_path: Path
) -> None:
    pytest.importorskip("plotly")
    header, *rows = file.read_text().splitlines(keepends=True)
    for k, name in enumerate(("short", "monday", "tuesday")):
        part = rows[700 * k : 700 * (k + 1)]
        (tmp_path / f"{name}.csv").write_text("".join([header, *part]))
    short = tmp_path / "short.csv"
    mass = f"{truth.values['payload_mass']:.9g}"
    law = tmp_path / "friction.yaml"
    joints = robots.load("panda").joint_names
    terms = zip(joints, truth.viscous, truth.coulomb, truth.offset, strict=True)
    lines = [f"  {j}: {{viscous: {v}, coulomb: {c}, offset: {o}}}" for j, v, c, o in terms]
    law.write_text("friction:\n" + "\n".join(lines) + "\n")
    asked = (short, "--identify", "payload", "--friction", law)
    given = ("--reference", f"{tmp_path}/monday.csv={mass}@mon", "--reference")
    given = (*given, f"{tmp_path}/tuesday.csv={mass}@tue")
    done = typed(*asked, *given, "--json", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["identified"]
    assert [one["session"] for one in found["references"]] == ["mon", "tue"]
    assert found["payload_mass"]["low"] < found["payload_mass"]["value"]
    assert "2 references in 2 sessions scatter by" in found["payload_mass"]["meaning"]
    kept = read_prior(tmp_path / "out" / "prior.json")
    assert [one.session for one in kept.references] == ["mon", "tue"]
    itself = typed(*asked, "--reference", f"{short}={mass}")
    assert "cannot be a reference for itself" in str(itself.exception)
