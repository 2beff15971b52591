# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Fluids and rotors from files: their content, and errors about invalid ones."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml

from vms_ph_dynamics import ModelError, VmsPhError
from vms_ph_io import robots, share_directory
from vms_ph_io.settings.actuators_file import load_actuators
from vms_ph_io.settings.fluid_file import load_fluid

FLUID = share_directory() / "config/fluids/bluerov2_alpha5.yaml"
ROTORS = share_directory() / "config/actuators/hextilt.yaml"

FILES = sorted((share_directory() / "config").glob("fluids/*")) + sorted(
    (share_directory() / "config").glob("actuators/*")
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_file_names_its_source_and_belongs_to_a_robot_or_a_task(file: Path) -> None:
    head = file.read_text().split("density:")[0].split("base:")[0]
    assert " et al." in head or "J. Mar. Sci. Eng." in head or "Source: " in head
    known = {r.fluid for r in map(robots.get, robots.names())}
    known |= {r.actuators for r in map(robots.get, robots.names())}
    tasks = (share_directory() / "config/tasks").glob("*.yaml")
    assert file.name in known or any(f"/{file.name}" in task.read_text() for task in tasks)


def test_the_fluid_of_the_underwater_robot_is_as_published() -> None:
    fluid = load_fluid(FLUID)
    assert fluid.density == 1000.0
    hull, upper_arm, forearm = fluid.bodies
    # von Benzon et al. 2022, table of the hydrodynamic coefficients; symmetric in +-z.
    np.testing.assert_array_equal(
        hull.added_mass, np.diag([6.36, 7.12, 18.68, 0.189, 0.135, 0.222])
    )
    np.testing.assert_array_equal(hull.linear_drag, [13.7, 0.0, 33.0, 0.0, 0.8, 0.0])
    np.testing.assert_array_equal(hull.quadratic_drag, [141.0, 217.0, 190.0, 1.19, 0.47, 1.5])
    assert hull.volume == 0.0134
    # The centre of buoyancy is slightly above the centre of mass, which is the origin.
    np.testing.assert_array_equal(hull.centre_of_buoyancy, [0.0, 0.0, 0.01])
    # The displaced volume of cylinders of 4 cm diameter.
    for body, length in ((upper_arm, np.hypot(0.02, 0.145)), (forearm, 0.10975)):
        assert body.volume == pytest.approx(np.pi * 0.02**2 * length)
        assert np.trace(body.added_mass[:3, :3]) == pytest.approx(2 * 1000.0 * body.volume)


def test_the_hull_is_nearly_neutrally_buoyant() -> None:
    robot = robots.load("bluerov2_alpha5")
    hull = robot.fluid.bodies[0]
    # 13.5 kg against 13.4 litres of fresh water.
    assert hull.volume * 1000.0 == pytest.approx(13.5, rel=0.01)


def changed(original: Path, change: Callable[[dict], object], folder: Path) -> Path:
    content = yaml.safe_load(original.read_text())
    change(content)
    file = folder / "changed.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("density"), "the file lacks 'density'"),
        (lambda c: c.update(salinity=35), "unknown key 'salinity'; known are density, bodies"),
        (lambda c: c.update(density=-1), "density of a fluid must be positive; given: -1"),
        (lambda c: c.update(density="wet"), "density must be 1 numbers"),
        (lambda c: c.update(bodies=[]), "'bodies' must be a list with at least one entry"),
        (lambda c: c.update(bodies=["base_link"]), "body 0 must have the keys link, added_mass"),
        (lambda c: c["bodies"][0].pop("volume"), "body 0 lacks 'volume'"),
        (lambda c: c["bodies"][0].update(lift=1), "body 0 has the unknown key 'lift'"),
        (
            lambda c: c["bodies"][0].update(added_mass=[1, 2, 3]),
            r"added_mass of body 0 must have shape \(6,\); given: shape \(3,\)",
        ),
        (lambda c: c["bodies"][0]["added_mass"].__setitem__(2, -1.0), "smallest eigenvalue is -1"),
        (lambda c: c["bodies"][0].update(volume=-1), "volume of 'base_link' must not be negative"),
        (lambda c: c["bodies"][1]["cylinder"].pop("to"), "cylinder of body 1 lacks 'to'"),
        (lambda c: c["bodies"][1]["cylinder"].update(radius=0), "positive radius and length"),
        (lambda c: c["bodies"][1].update(volume=1), "body 1 has the unknown key 'volume'"),
    ],
)
def test_an_invalid_fluid_file_is_rejected_with_the_name_of_the_key(
    change: Callable[[dict], object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=rf"changed\.yaml is not a valid fluid file: .*{said}"):
        load_fluid(changed(FLUID, change, tmp_path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("thrust"), "rotor 0 lacks 'thrust'"),
        (
            lambda c: c.update(thrust=[1]),
            r"thrust of rotor 0 must have shape \(2,\); given: shape \(1,\)",
        ),
        (lambda c: c.update(thrust=[2, 1]), "lower <= upper; given: 2.0, 1.0"),
        (lambda c: c.update(blades=2), "unknown key 'blades'"),
        (lambda c: c.update(base="fixed"), "floating or planar base; given: 'fixed'"),
        (lambda c: c["rotors"][3].update(torque_sign=2), "torque_sign of rotor 3 must be 1 or -1"),
        (
            lambda c: c["rotors"][0].update(orientation=[0, 0, 0, 1.1]),
            r"rotor 0 must be a quaternion .* of length 1; its length is 1\.1",
        ),
        (lambda c: c["rotors"][5].pop("position"), "rotor 5 lacks 'position'"),
        (lambda c: c["rotors"][5].update(position=[1, 2]), r"position of rotor 5 must have shape"),
    ],
)
def test_an_invalid_rotor_file_is_rejected_with_the_name_of_the_key(
    change: Callable[[dict], object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(
        ModelError, match=rf"changed\.yaml is not a valid file of actuators: .*{said}"
    ):
        load_actuators(changed(ROTORS, change, tmp_path))


@pytest.mark.parametrize("load", [load_fluid, load_actuators])
def test_a_missing_or_unreadable_file_gets_one_clear_sentence(
    load: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(VmsPhError, match=r"nothing\.yaml cannot be read: No such file"):
        load(tmp_path / "nothing.yaml")
    file = tmp_path / "broken.yaml"
    file.write_text("a: [1, 2")
    with pytest.raises(ModelError, match=r"broken\.yaml is not YAML"):
        load(file)
    file.write_text("just words")
    with pytest.raises(ModelError, match="must contain a mapping"):
        load(file)
    file.write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(ModelError, match=r"not UTF-(8|16) text"):
        load(file)


def test_a_number_of_which_a_power_overflows_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fluid.yaml"
    file.write_text(
        "density: 1000.0\nbodies:\n"
        "  - {link: a, cylinder: {radius: 1e+150, from: [0, 0, 0], to: [0, 0, 1]}}\n"
    )
    with pytest.raises(ModelError, match="radius of body 0 must be at most"):
        load_fluid(file)
