# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph ephs and vms-ph reproduce lohmayer-mbs."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_ephs.examples import EXAMPLES
from vms_ph_nodes.cli.app import make_app


def run(*arguments: str) -> str:
    result = CliRunner().invoke(make_app(), list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_examples_are_listed() -> None:
    assert [line.split()[0] for line in run("ephs", "list").splitlines()] == list(EXAMPLES)


@pytest.mark.parametrize("model", [*EXAMPLES, "panda", "satellite_panda"])
def test_every_example_and_a_robot_can_be_drawn(model: str, tmp_path: Path) -> None:
    file = tmp_path / "picture.svg"
    assert f"written: {file}" in run("ephs", "draw", model, "-o", str(file))
    assert ET.parse(file).getroot().tag.endswith("svg")


def test_an_unknown_model_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    result = CliRunner().invoke(make_app(), ["ephs", "draw", "teapot"])
    assert isinstance(result.exception, VmsPhError)
    assert "pendulum" in str(result.exception)
    assert "satellite_panda" in str(result.exception)


def test_a_pattern_of_the_user_is_drawn_and_written_again(tmp_path: Path) -> None:
    file, copy, picture = (tmp_path / name for name in ("own.yaml", "copy.yaml", "own.svg"))
    file.write_text(
        "boxes:\n"
        "  mass: {kind: quadratic, ports: {p: momentum}, matrix: 0.5}\n"
        "  spring: {kind: spring, stiffness: 2 N/m, grounded: true, viscous: 0.3}\n"
        "  room: {kind: environment}\n"
        "junctions: {mass: [mass.p, spring.p], s: [spring.s, room.s]}\n"
    )
    run("ephs", "draw", str(file), "--flat", "-o", str(picture))
    assert ">spring.mf.p<" in picture.read_text()
    run("ephs", "export", str(file), "-o", str(copy))
    run("ephs", "draw", str(copy), "-o", str(picture))
    assert ET.parse(picture).getroot().tag.endswith("svg")
    assert "stiffness" in run("ephs", "parts", "spring")
    assert "N/m" in run("ephs", "parts", "spring")
    assert "propeller" in run("ephs", "parts")
    file.write_text("boxes: {a: {kind: teapot}}\njunctions: {}\n")
    result = CliRunner().invoke(make_app(), ["ephs", "draw", str(file)])
    assert isinstance(result.exception, VmsPhError)
    assert "in box 'a': there is no kind 'teapot'" in str(result.exception)
