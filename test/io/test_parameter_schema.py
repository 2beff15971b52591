# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parameter files in the schema of generate_parameter_library."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.integrators import SCHEMES
from vms_ph_io import share_directory
from vms_ph_io.settings.bounded_text import read_yaml
from vms_ph_io.settings.parameter_schema import load_parameters

FILES = sorted((share_directory() / "config/parameters").glob("*.yaml"))


def _load(tmp_path: Path, text: str) -> dict:
    path = tmp_path / "node.yaml"
    path.write_text(text)
    return load_parameters(path)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_file_follows_the_schema_and_has_the_name_of_its_node(path: Path) -> None:
    specs = load_parameters(path)
    assert specs
    assert path.read_text().splitlines()[1] == f"{path.stem}:"
    for spec in specs.values():
        assert spec.complaint(spec.default) == ""
        assert spec.description
    (tree,) = read_yaml(path).values()
    for item in _items(tree):
        assert item.keys() <= FIELDS


FIELDS = {
    "type", "default_value", "description", "read_only", "validation", "additional_constraints",
}  # fmt: skip


def _items(tree: dict) -> Iterator[dict]:
    for item in tree.values():
        yield from [item] if "type" in item else _items(item)


def test_the_schemes_are_those_of_the_integrators() -> None:
    spec = load_parameters(share_directory() / "config/parameters/simulator.yaml")["scheme"]
    assert spec.validation["one_of"][0] == ["auto", *SCHEMES]


def test_nested_names_are_joined_by_dots(tmp_path: Path) -> None:
    specs = _load(tmp_path, "n: {push: {force: {type: double, default_value: 1, description: d}}}")
    assert specs["push.force"].default == 1.0
    assert isinstance(specs["push.force"].default, float)
    assert not specs["push.force"].read_only


@pytest.mark.parametrize(
    ("rule", "good", "bad", "said"),
    [
        ("bounds<>: [0.0, 2.0]", 2.0, 2.1, "x must be from 0.0 to 2.0; given: 2.1"),
        ("gt<>: [0.0]", 0.5, 0.0, "x must be greater than 0.0"),
        ("gt_eq<>: [0.5]", 0.5, 0.4, "x must be at least 0.5"),
        ("one_of<>: [[0.5, 1.5]]", 1.5, 1.0, "x must be one of 0.5, 1.5"),
    ],
)
def test_a_value_that_violates_its_rule_is_rejected_with_a_message(
    tmp_path: Path, rule: str, good: float, bad: float, said: str
) -> None:
    specs = _load(
        tmp_path,
        f"n: {{x: {{type: double, default_value: 0.5, description: d, validation: {{{rule}}}}}}}",
    )
    assert specs["x"].complaint(good) == ""
    assert said in specs["x"].complaint(bad)
    assert specs["x"].complaint("text") == "x is a double; given: 'text'"


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(VmsPhError, match=r"none\.yaml cannot be read: No such file"):
        load_parameters(tmp_path / "none.yaml")
