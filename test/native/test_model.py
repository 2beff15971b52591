"""The robot in C++ is the robot in Python."""

from types import ModuleType

import numpy as np
import pytest

from vms_ph_io import robots

from .conftest import native_model

ROBOTS = [name for name in robots.names() if robots.load(name).tree.projection is None]


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_has_the_same_joints_and_limits_in_both_languages(
    native: ModuleType, name: str
) -> None:
    model = robots.load(name)
    same = native_model(native, model)
    assert (same.b, same.n, same.nq, same.nv) == (model.b, model.n, model.nq, model.nv)
    assert tuple(same.joint_names) == tuple(model.joint_names)
    for ours, theirs in (
        (model.joints.lower, same.lower),
        (model.joints.upper, same.upper),
        (model.joints.effort, same.effort),
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_a_model_that_cannot_be_read_is_refused_with_a_sentence(native: ModuleType) -> None:
    with pytest.raises(native.ModelError, match="not a model saved by this version of Pinocchio"):
        native.Model("nothing")
