# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the plugins follow from the gains of the laws."""

import importlib.util
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "ros2_control/parameters"
_spec = importlib.util.spec_from_file_location("generate", FOLDER / "generate.py")
assert _spec is not None
assert _spec.loader is not None
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)


@pytest.mark.parametrize("name", generate.LAWS)
def test_the_schema_of_a_law_is_up_to_date_with_its_gains(name: str) -> None:
    text = (FOLDER / f"{name}.yaml").read_text()
    assert text == generate.schema(name), "run python ros2_control/parameters/generate.py"


@pytest.mark.parametrize("name", generate.LAWS)
def test_gains_have_the_names_defaults_and_bounds_that_they_have_in_python(name: str) -> None:
    (schema,) = yaml.safe_load((FOLDER / f"{name}.yaml").read_text()).values()
    gains = fields(generate.LAWS[name].Gains)
    assert list(schema) == [item.name for item in gains]
    for item in gains:
        spec = schema[item.name]
        assert spec["default_value"] == item.default
        assert spec["description"] == item.metadata["description"]
        low, high = item.metadata["low"], item.metadata["high"]
        bounds = spec.get("validation", {}).get("bounds<>")
        assert bounds == (None if low is None else [low, high])
        assert not spec.get("read_only", False)


def test_the_force_broadcaster_states_its_noise_as_the_node_does() -> None:
    (plugin,) = yaml.safe_load((FOLDER / "force_broadcaster.yaml").read_text()).values()
    path = FOLDER.parents[1] / "config/parameters/force_observer.yaml"
    (node,) = yaml.safe_load(path.read_text()).values()
    shared = set(node) - {"frame_prefix", "driver", "payload_driver"}
    assert {name: plugin[name] for name in shared} == {name: node[name] for name in shared}


def _schema(name: str) -> dict[str, dict[str, object]]:
    (schema,) = yaml.safe_load((FOLDER / f"{name}.yaml").read_text()).values()
    return dict(schema)


def test_the_guard_before_servos_has_the_tank_of_the_energy_guard() -> None:
    servos, efforts = _schema("servo_guard"), _schema("energy_guard_settings")
    shared = {"tank_capacity", "tank_initial", "refill_power", "freeze"}
    assert {*servos} & {*efforts} == shared
    for name in shared:
        kept = ("type", "default_value", "validation")
        assert [servos[name].get(k) for k in kept] == [efforts[name].get(k) for k in kept]
