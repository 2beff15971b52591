"""The parameters of the plugins are those of the Python controllers and nodes."""

from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from vms_ph_controllers import Controller, DecoupledVMSController, TaskSpaceIDAPBC

FOLDER = Path(__file__).parents[2] / "ros2_control/parameters"


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("task_space_ida_pbc", TaskSpaceIDAPBC),
        ("decoupled_vms_controller", DecoupledVMSController),
    ],
)
def test_gains_have_the_names_defaults_and_bounds_that_they_have_in_python(
    file: str, kind: type[Controller]
) -> None:
    (schema,) = yaml.safe_load((FOLDER / f"{file}.yaml").read_text()).values()
    assert list(schema) == [item.name for item in fields(kind.Gains)]
    for item in fields(kind.Gains):
        spec = schema[item.name]
        assert spec["default_value"] == item.default
        assert spec["description"] == item.metadata["description"]
        low, high = item.metadata["low"], item.metadata["high"]
        bounds = spec.get("validation", {}).get("bounds<>")
        assert bounds == (None if low is None else [low, high])
        assert not spec.get("read_only", False)
