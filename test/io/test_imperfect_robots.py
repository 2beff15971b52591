# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Published robots with imperfect inertias load, and say what was repaired."""

import warnings

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.errors import InertiaWarning
from vms_ph_io import load_urdf
from vms_ph_io.descriptions.packages import package_directory
from vms_ph_io.descriptions.urdf import UrdfWarning

# Under robots/ of example-robot-data, with the links that are repaired on a floating base: links of
# a milligram, antennas, cameras, feet without mass.
ROBOTS = {
    "anymal_b_simple_description/robots/anymal.urdf": {"base"},
    "anymal_c_simple_description/urdf/anymal.urdf": {
        "hatch",
        *(f"depth_camera_{side}_camera" for side in ("front", "rear", "left", "right")),
    },
    "hyq_description/robots/hyq_no_sensors.urdf": {
        "base_link",
        *(f"{leg}_foot" for leg in ("lf", "lh", "rf", "rh")),
    },
    "go1_description/urdf/go1.urdf": {"base"},
    "b1_description/urdf/b1.urdf": {"base"},
    "tiago_description/robots/tiago.urdf": {"base_antenna_left_link", "base_antenna_right_link"},
    "icub_description/robots/icub.urdf": set(),
    "pr2_description/urdf/pr2.urdf": {"sensor_mount_link", "double_stereo_link"},
    "bolt_description/robots/bolt.urdf": {"FL_FOOT", "FR_FOOT"},
}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_published_robot_loads_with_a_list_of_its_repairs(name: str, base: str) -> None:
    folder = package_directory("example-robot-data")
    assert folder is not None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = load_urdf(folder / "robots" / name, base)  # type: ignore[arg-type]
    told = [str(w.message) for w in said if issubclass(w.category, InertiaWarning)]
    repaired = {repair.link for repair in model.repairs}
    # What is fixed to the world has no influence on a fixed base.
    assert repaired == ROBOTS[name] if base == "floating" else repaired <= ROBOTS[name]
    assert len(told) == bool(repaired)
    assert all(f"'{link}'" in told[0] for link in repaired)
    assert {repair.grade for repair in model.repairs} <= {"negligible"}
    q = model.random_configuration(np.random.default_rng(1))
    np.linalg.cholesky(model.evaluate(q, np.zeros(model.nv)).M)


def test_only_the_repaired_links_of_a_robot_differ_from_those_of_pinocchio() -> None:
    folder = package_directory("example-robot-data")
    assert folder is not None
    file = folder / "robots/anymal_b_simple_description/robots/anymal.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        with pytest.warns(InertiaWarning, match="'base' belongs .* by 0.00032 % at most"):
            model = load_urdf(file, "floating")
        with pytest.raises(ModelError, match="inertia='strict'"):
            load_urdf(file, "floating", inertia="strict")
        given = load_urdf(file, "floating", inertia="as_given")
    own = pin.buildModelFromXML(file.read_text(), pin.JointModelFreeFlyer())
    changed = {repair.joint for repair in model.repairs}
    assert changed
    for i in range(1, own.njoints):
        assert given.tree.pinocchio.inertias[i] == own.inertias[i]
        same = model.tree.pinocchio.inertias[i] == own.inertias[i]
        assert same == (own.names[i] not in changed)
