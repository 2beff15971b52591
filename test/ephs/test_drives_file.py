# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Battery and motors from a file: rules, what overrides them, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from ephs.driven_arm import URDF, arm
from vms_ph_dynamics import ModelError, OptionError, VMSModel
from vms_ph_ephs.files import drives_file
from vms_ph_io import robots

COVERED = ("panda", "omnidirectional_panda", "hextilt", "borinot", "satellite_panda", "baxter")


@pytest.mark.parametrize("name", COVERED)
def test_every_bundled_robot_has_motors_that_give_its_largest_efforts(name: str) -> None:
    robot, model = robots.get(name), robots.load(name)
    found = drives_file.load(model, name, "", robot.allocation())
    motors, battery = found.motors, found.battery
    assert (motors.torque_constant * motors.largest_current > model.joints.effort).all()
    stall = battery.empty / motors.resistance * motors.torque_constant
    assert (stall > model.joints.effort).all()
    rates = np.minimum(model.joints.velocity, 10.0)
    assert (battery.empty / motors.torque_constant > rates).all()
    assert (found.rotors is not None) == (name == "hextilt")


def file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "drives.yaml"
    path.write_text(text)
    return str(path)


def test_an_entry_of_a_joint_overrides_the_rule(tmp_path: Path) -> None:
    rule = (
        "{largest_rate: 9, speed_margin: 1.3, current_margin: 1.2, loss_share: 0.3, "
        "winding_rise: 60, winding_time: 60, housing_rise: 40, housing_time: 900, "
        "temperature_coefficient: 0.0039}"
    )
    text = f"defaults:\n  motors: {rule}\n  joints: {{elbow: {{resistance: 3.5}}}}\n  idle: 1.5\n"
    found = drives_file.load(arm(), "", file(tmp_path, text))
    assert found.motors.resistance[1] == 3.5
    assert found.motors.resistance[0] == pytest.approx(
        0.3 * 30 * 6 * (found.motors.torque_constant[0] / 30) ** 2
    )
    assert found.idle == 1.5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("defaults: {batery: {}}", "no entry 'batery'; accepted are .*battery"),
        ("defaults: {battery: {full: tall}}", "full of battery must be a finite number"),
        ("defaults: {battery: {full: 3, empty: 4}}", "higher voltage when it is full"),
        ("defaults: {joints: {knee: {}}}", "no entry 'knee'; accepted are shoulder, elbow"),
        ("defaults: {}", "motors lacks .*speed_margin"),
        ("[1, 2]", "must be a mapping"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        drives_file.load(arm(), "", file(tmp_path, text))


def test_a_missing_file_and_a_joint_without_limits_are_refused() -> None:
    with pytest.raises(OptionError, match="no file /nowhere"):
        drives_file.load(arm(), "", "/nowhere/drives.yaml")
    free = URDF.replace('effort="30"', 'effort="0"')
    model = VMSModel.from_urdf(free, base="fixed", end_effector="tip")
    with pytest.raises(ModelError, match="joint 'shoulder' has no largest effort"):
        drives_file.load(model)
