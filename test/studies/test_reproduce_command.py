# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph reproduce: its list, its JSON document, its table, its errors."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.cli.app import make_app
from vms_ph_studies import studies
from vms_ph_studies.check import ORIGINS

VERDICTS = {"agrees", "differs", "refuted"}
KEYS = ["name", "unit", *ORIGINS, "obtained", "tolerance", "verdict", "why"]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(make_app(), ["reproduce", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def checks(identifier: str, **given: str) -> dict[str, dict[str, object]]:
    words = [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
    document = json.loads(run(identifier, "--json", *words))
    assert set(document) == {"id", "source", "parameters", "checks", "files"}
    for check in document["checks"]:
        assert list(check) == KEYS
        assert check["verdict"] in VERDICTS
        # A reference has one origin; where the source prints nothing, published is null.
        assert sum(check[origin] is not None for origin in ORIGINS) == 1
    return {check["name"]: check for check in document["checks"]}


@pytest.mark.parametrize("robot", ["satellite_panda", "omnidirectional_panda", "hextilt"])
def test_all_forms_of_source_a_agree_and_its_misprint_is_refuted(robot: str) -> None:
    found = checks("rashad-equivalence", robot=robot, states="5")
    verdicts = [check["verdict"] for check in found.values()]
    assert verdicts[:-2] == ["agrees"] * (len(verdicts) - 2)
    assert verdicts[-2:] == ["refuted", "refuted"]


def test_the_misprint_cannot_be_detected_at_rest() -> None:
    found = checks("rashad-equivalence", states="2", speed="0")
    printed = found["(114) as printed: -E_b^T v_hat on the right"]
    assert printed["verdict"] == "agrees"


def test_a_closed_loop_of_the_arm_turns_a_light_satellite_more_than_a_heavy_one() -> None:
    name = "base attitude after a closed loop of the joints"
    heavy = checks("free-floating-nonholonomy", steps="200")
    assert {check["verdict"] for check in heavy.values()} == {"agrees"}
    inertia = {f"bus_i{a}{a}": "20" for a in "xyz"}
    light = checks("free-floating-nonholonomy", steps="200", bus_mass="200", **inertia)
    degrees = [float(str(found[name]["obtained"]).split()[-1]) for found in (heavy, light)]
    assert degrees[1] > 50 * degrees[0]


def test_the_plot_of_a_study_is_written_to_the_given_folder(tmp_path: Path) -> None:
    out = tmp_path / "new"
    text = run("free-floating-nonholonomy", "--set", "steps=100", "--out", str(out))
    # CliRunner is no terminal: a table and no progress bar.
    assert all(word in text for word in ("reference", "origin", "bound", "verdict"))
    assert "\x1b" not in text
    assert [file.name for file in out.iterdir()] == ["free-floating-nonholonomy.png"]


def test_the_list_names_every_study_and_that_of_one_its_parameters() -> None:
    text = run("--list")
    assert len(text.splitlines()) == 2 * len(studies()) + 1
    listed = json.loads(run("--list", "--json"))
    assert [study["id"] for study in listed] == list(studies())
    for study in listed:
        assert study["id"] in text
    text = run("space-capture", "--list")
    (named,) = (study for study in listed if study["id"] == "space-capture")
    assert all(f"--set {name}=" in text for name in named["parameters"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope"], "there is no study 'nope'; there are rashad-equivalence"),
        ([], "no study is given"),
        (["rashad-equivalence", "--set", "colour=red"], "no parameter 'colour'; it has robot"),
        (["rashad-equivalence", "--set", "states=many"], "expected a whole number of at least 1"),
        (["rashad-equivalence", "--set", "states=0"], "expected a whole number of at least 1"),
        (["rashad-equivalence", "--set", "speed=nan"], "speed=nan: expected a number"),
        (["califano-fig2", "--set", "seconds=0"], "seconds=0: expected a number above 0"),
        (["lohmayer-mbs", "--set", "dt=5"], "lohmayer-mbs cannot be computed with dt=5"),
        (["rashad-equivalence", "--set", "robot=r2d2"], "accepted are panda"),
        (["rashad-equivalence", "--set", "states"], "expected NAME=VALUE"),
        (["free-floating-nonholonomy", "--set", "joint_a=9"], "two of the joints 1 to 7"),
        (["free-floating-nonholonomy", "--set", "steps=0"], "a whole number of at least 1"),
    ],
)
def test_an_invalid_request_is_reported_in_one_sentence(
    arguments: list[str], sentence: str
) -> None:
    result = CliRunner().invoke(make_app(), ["reproduce", *arguments])
    assert isinstance(result.exception, VmsPhError)
    assert sentence in str(result.exception)


def test_strict_ends_with_an_error_when_a_check_differs() -> None:
    # A circle of half a metre leads the arm through singularities: the tool does not come back.
    arguments = ["reproduce", "free-floating-nonholonomy", "--set", "steps=50"]
    circle = ["--set", "radius=0.5", "--strict"]
    assert CliRunner().invoke(make_app(), arguments + circle).exit_code == 1


def test_the_decoupled_law_holds_the_base_while_the_arm_moves() -> None:
    found = checks("disturbance-rejection", robot="omnidirectional_panda", seconds="0.6")
    moved = found["omnidirectional_panda while the arm moves: largest displacement of the base"]
    assert float(str(moved["baseline"])) > 100 * float(str(moved["obtained"]))
    weaker = checks("disturbance-rejection", robot="omnidirectional_panda", seconds="0.6", push="1")
    pushed = "omnidirectional_panda pushed at the tool: largest displacement of the base"
    assert float(str(weaker[pushed]["obtained"])) < 0.3 * float(str(found[pushed]["obtained"]))
