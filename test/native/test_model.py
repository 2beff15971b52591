# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The robot in C++ is the robot in Python."""

from types import ModuleType

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
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


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_default_end_effector_is_a_link_that_a_joint_moves(
    native: ModuleType, base: str
) -> None:
    # The stand of the panda is the last link of the file, and no end effector.
    xml = robots.get("panda").description()
    stand = """<link name="stand"/><joint name="zz" type="fixed"><parent link="panda_link0"/>
        <child link="stand"/></joint></robot>"""
    model = VMSModel.from_urdf(xml.replace("</robot>", stand), base)
    assert model.link_names[-1] == "stand"
    assert model.end_effector == VMSModel.from_urdf(xml, base).end_effector
    d = native.Evaluation(native.Model(model.tree.pinocchio.saveToString()))
    q = model.neutral_configuration()
    d.set(q, np.zeros(model.nv))
    np.testing.assert_allclose(d.placement(""), d.placement(model.end_effector), atol=1e-12)


def test_a_model_that_cannot_be_read_is_refused_with_a_sentence(native: ModuleType) -> None:
    with pytest.raises(native.ModelError, match="not a model saved by this version of Pinocchio"):
        native.Model("nothing")
