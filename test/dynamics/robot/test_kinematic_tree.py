# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinematic tree: what stands between the library and Pinocchio."""

import threading

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_io import robots

ROBOT = robots.load("hextilt")


def test_every_thread_has_its_own_data() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(ROBOT.tree.data()))
    thread.start()
    thread.join()
    assert found[0] is not ROBOT.tree.data()
    assert ROBOT.tree.data() is ROBOT.tree.data()


def test_the_mass_matrix_is_whole_whatever_was_in_the_data_before(
    rng: np.random.Generator,
) -> None:
    robot = ROBOT.with_native(False)
    tree, q = robot.tree, robot.random_configuration(rng)
    mass = robot.evaluate(q, np.zeros(robot.nv)).M
    np.testing.assert_array_equal(mass, mass.T)
    pin.computeAllTerms(tree.pinocchio, tree.data(), q, rng.normal(size=robot.nv))
    tree.data().M[:] = rng.normal(size=mass.shape)
    np.testing.assert_array_equal(robot.evaluate(q, np.zeros(robot.nv)).M, mass)


def test_frames_are_found_by_name() -> None:
    assert ROBOT.tree.has_frame(ROBOT.end_effector)
    assert not ROBOT.tree.has_frame("nowhere")
    with pytest.raises(ModelError, match="'nowhere' is not a frame of"):
        ROBOT.tree.frame_id("nowhere")


def test_the_copy_that_a_user_gets_does_not_change_the_robot() -> None:
    copy = ROBOT.pinocchio
    copy.gravity.linear = np.zeros(3)
    np.testing.assert_array_equal(ROBOT.tree.pinocchio.gravity.linear, ROBOT.gravity)


def test_a_robot_shows_what_it_is() -> None:
    shown = repr(robots.load("panda"))
    assert shown == (
        "VMSModel('panda', fixed base, n=7, nv=7, total_mass=16.82 kg, end_effector='panda_link8')"
    )
    assert repr(robots.load("bluerov2_alpha5")).endswith(", in a fluid)")
    assert "planar base, n=7, nv=10" in repr(
        VMSModel.from_pinocchio(robots.load("omnidirectional_panda").pinocchio)
    )
