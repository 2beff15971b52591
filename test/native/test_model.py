# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robot in C++ is the robot in Python."""

from types import ModuleType
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

from .conftest import native_model


@pytest.mark.parametrize("name", robots.names())
def test_a_robot_has_the_same_joints_and_limits_in_both_languages(
    native: ModuleType, parity: ModuleType, name: str
) -> None:
    model = robots.load(name)
    same = native_model(native, model)
    assert (same.b, same.n, same.nq, same.nv) == (model.b, model.n, model.nq, model.nv)
    assert tuple(same.joint_names) == tuple(model.joint_names)
    joints = model.joints
    expected = joints.lower, joints.upper, joints.effort, joints.velocity, model.base_gravity
    for ours, theirs in zip(expected, parity.limits(same), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_the_default_end_effector_is_the_farthest_link_of_the_longest_chain(
    native: ModuleType, parity: ModuleType, base: str
) -> None:
    # Neither a stand nor links for collisions only, wherever the file lists them.
    xml = robots.get("panda").description()
    leaves = "".join(
        f"""<link name="zz_{link}"/><joint name="zz_{link}" type="fixed">
            <parent link="{link}"/><child link="zz_{link}"/></joint>"""
        for link in ("panda_link0", "panda_link1", "panda_link7")
    )
    model = VMSModel.from_urdf(xml.replace("</robot>", f"{leaves}</robot>"), base)
    assert "zz_panda_link1" in model.link_names
    assert model.end_effector == VMSModel.from_urdf(xml, base).end_effector
    d = parity.Evaluation(native.Model(model.tree.pinocchio))
    q = model.neutral_configuration()
    d.set(q, np.zeros(model.nv))
    np.testing.assert_allclose(d.placement(""), d.placement(model.end_effector), atol=1e-12)


def test_a_model_that_cannot_be_read_is_refused_with_a_sentence(native: ModuleType) -> None:
    with pytest.raises(native.ModelError, match=r"must be a pinocchio\.Model; given: a 'str' \("):
        native.Model("nothing")
    source = pin.buildSampleModelManipulator()
    source.armature = np.zeros(2)
    with pytest.raises(native.ModelError, match=r"armature of .* must have 6 entries; given: 2"):
        native.Model(source)


JOINTS = [
    pin.JointModelRX(),
    pin.JointModelRY(),
    pin.JointModelRZ(),
    pin.JointModelRevoluteUnaligned(np.array([0.0, 0.6, 0.8])),
    pin.JointModelRUBX(),
    pin.JointModelRUBY(),
    pin.JointModelRUBZ(),
    pin.JointModelPX(),
    pin.JointModelPY(),
    pin.JointModelPZ(),
    pin.JointModelPrismaticUnaligned(np.array([0.6, 0.0, 0.8])),
    pin.JointModelHX(0.1),
    pin.JointModelHY(-0.2),
    pin.JointModelHZ(0.3),
    pin.JointModelHelicalUnaligned(np.array([0.8, 0.6, 0.0]), 0.4),
]


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.shortname())
@pytest.mark.parametrize("base", [pin.JointModelFreeFlyer(), pin.JointModelPlanar(), None])
def test_every_kind_of_joint_arrives_as_it_is(
    native: ModuleType, parity: ModuleType, joint: Any, base: Any
) -> None:
    source, rng = pin.Model(), np.random.default_rng(7)
    source.gravity.linear = np.array([1.0, -2.0, -9.0])
    at = 0
    kinds = [*([base] if base else []), joint, pin.JointModelRY(), joint]
    for i, kind in enumerate(kinds):
        at = source.addJoint(at, kind, pin.SE3.Random(), f"j{i}")
        source.appendBodyToJoint(at, pin.Inertia.Random(), pin.SE3.Identity())
        source.addFrame(pin.Frame(f"b{i}", at, 0, pin.SE3.Random(), pin.FrameType.BODY))
    source.armature[source.nv - 2 :] = [0.3, 0.1]
    robot = native.Model(source, f"b{len(kinds) - 1}")
    assert (robot.nq, robot.nv) == (source.nq, source.nv)
    assert robot.joint_names == list(source.names)[-3:]
    q, v = pin.randomConfiguration(source, -np.ones(source.nq), np.ones(source.nq)), np.zeros(0)
    v = rng.normal(size=source.nv)
    d = parity.Evaluation(robot)
    d.set(q, v)
    data = source.createData()
    pin.crba(source, data, q)
    mass = np.triu(data.M) + np.triu(data.M, 1).T
    np.testing.assert_allclose(d.M, mass, rtol=1e-12, atol=1e-12)
    gravity = pin.computeGeneralizedGravity(source, data, q)
    np.testing.assert_allclose(d.g, gravity, rtol=1e-11, atol=1e-11)
    pin.framesForwardKinematics(source, data, q)
    np.testing.assert_allclose(d.placement(""), data.oMf[-1].homogeneous, atol=1e-12)


def test_a_kind_of_joint_that_the_core_lacks_is_refused(native: ModuleType) -> None:
    ball, several = pin.Model(), pin.Model()
    for source, kind in ((ball, pin.JointModelSpherical()), (several, pin.JointModelComposite())):
        if source is several:
            kind.addJoint(pin.JointModelRX())
        source.appendBodyToJoint(
            source.addJoint(0, kind, pin.SE3.Identity(), "odd"),
            pin.Inertia.Random(),
            pin.SE3.Identity(),
        )
    with pytest.raises(native.ModelError, match="'odd' has 3 degrees of freedom"):
        native.Model(ball)
    with pytest.raises(native.ModelError, match=r"'odd' \(JointModelComposite\) is neither"):
        native.Model(several)
