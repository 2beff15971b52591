# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a URDF may give beyond the standard: rotors, and what an MJCF says."""

import numpy as np
import pytest

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_io import robots


def with_dynamics(attributes: str) -> str:
    """The URDF of a pendulum."""
    return (
        '<robot name="r"><link name="a"/><link name="b"><inertial><origin xyz="0 0 -1"/>'
        '<mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '</link><joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        f'<axis xyz="0 1 0"/><dynamics {attributes}/></joint></robot>'
    )


def test_armature_adds_to_the_inertia_of_its_joint() -> None:
    model = VMSModel.from_urdf(with_dynamics('armature="0.5"'))
    d = model.evaluate(model.neutral_configuration(), [2.0])
    np.testing.assert_allclose(d.M, [[3.5]])
    np.testing.assert_allclose(d.kinetic_energy, 7.0)


def test_armature_of_a_locked_joint_is_gone_with_it() -> None:
    xml = robots.get("panda").description()
    some = xml.replace("<dynamics ", '<dynamics armature="0.1" ')
    assert some.count('armature="0.1"') >= 7
    whole, locked = (
        VMSModel.from_urdf(some, locked_joints=names) for names in ((), ("panda_joint3",))
    )
    np.testing.assert_array_equal(whole.pinocchio.armature, np.full(7, 0.1))
    np.testing.assert_array_equal(locked.pinocchio.armature, np.full(6, 0.1))


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ('armature="-1"', "armature of joint 'j' must be finite and not negative"),
        ('armature="nan"', "armature of <dynamics> of joint 'j' must be a finite number"),
        ('armature="1 2"', "armature of <dynamics> of joint 'j' must be a finite number"),
    ],
)
def test_armature_that_is_no_inertia_is_refused(attributes: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        VMSModel.from_urdf(with_dynamics(attributes))
