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

# Under robots/ of example-robot-data: links of a milligram, antennas, cameras, feet without mass,
# fixed to others with which they are physical.
ROBOTS = (
    "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_c_simple_description/urdf/anymal.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf",
    "go1_description/urdf/go1.urdf",
    "b1_description/urdf/b1.urdf",
    "tiago_description/robots/tiago.urdf",
    "icub_description/robots/icub.urdf",
    "pr2_description/urdf/pr2.urdf",
    "bolt_description/robots/bolt.urdf",
)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_published_robot_loads_as_it_is_where_its_bodies_are_physical(
    name: str, base: str
) -> None:
    folder = package_directory("example-robot-data")
    assert folder is not None
    file = folder / "robots" / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        warnings.simplefilter("error", InertiaWarning)
        model = load_urdf(file, base)  # type: ignore[arg-type]
        assert model.repairs == ()
        given = load_urdf(file, base, inertia="as_given")  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="inertia='strict'"):
            load_urdf(file, base, inertia="strict")  # type: ignore[arg-type]
    assert list(model.tree.pinocchio.inertias) == list(given.tree.pinocchio.inertias)
    q = model.random_configuration(np.random.default_rng(1))
    np.linalg.cholesky(model.evaluate(q, np.zeros(model.nv)).M)


def test_only_the_repaired_links_of_a_robot_differ_from_those_of_pinocchio() -> None:
    folder = package_directory("example-robot-data")
    assert folder is not None
    file = folder / "robots/romeo_description/urdf/romeo.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        with pytest.warns(InertiaWarning, match="'RFinger21' moves no .* by 0.6 % at most"):
            model = load_urdf(file, "floating")
        with pytest.raises(ModelError, match="inertia='strict'"):
            load_urdf(file, "floating", inertia="strict")
    own = pin.buildModelFromXML(file.read_text(), pin.JointModelFreeFlyer())
    changed = {repair.joint for repair in model.repairs}
    assert changed
    for i in range(1, own.njoints):
        same = model.tree.pinocchio.inertias[i] == own.inertias[i]
        assert same == (own.names[i] not in changed)
