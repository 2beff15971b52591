# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Armature, fluids and heat: a robot is taken as it is, or refused."""

import numpy as np
import pinocchio as pin
import pytest
from dynamics.conftest import random_tree, state_of

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_ephs import StructureError, assemble, simulate
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.multibody.urdf import from_pinocchio
from vms_ph_io import robots


def geared(seed: int) -> VMSModel:
    """A random tree with armature of the order of its links' inertias at every joint."""
    model = random_tree(seed).pinocchio.copy()
    armature = np.zeros(model.nv)
    for i in range(1, model.njoints):
        if model.nvs[i] == 1:
            armature[model.idx_vs[i]] = 0.1 * i
    model.armature = armature
    return VMSModel.from_pinocchio(model)


@pytest.mark.parametrize("seed", range(6))
def test_rotors_accelerate_with_their_joints_as_forward_dynamics_says(seed: int) -> None:
    model = geared(seed)
    equations = assemble(from_pinocchio(model.pinocchio))
    q, v = state_of(model, np.random.default_rng(seed))
    x = mb.state_of(equations, model, q, v)
    np.testing.assert_allclose(mb.configuration_of(equations, model, x)[1], v, atol=1e-11)
    energies = equations.storages.energies(x)
    kinetic = sum(energy for box, energy in energies.items() if box.endswith(".ke"))
    assert kinetic == pytest.approx(model.evaluate(q, v).kinetic_energy, rel=1e-12)
    rate, h = equations.rates(x).tangent, 1e-6
    ends = [
        mb.configuration_of(equations, model, equations.states.step(x, s * h * rate))[1]
        for s in (1.0, -1.0)
    ]
    found = (ends[0] - ends[1]) / (2 * h)
    expected = np.asarray(pin.aba(model.pinocchio, model.tree.data(), q, v, np.zeros(model.nv)))
    np.testing.assert_allclose(found, expected, atol=1e-7 * (1 + np.abs(expected).max()))


def test_a_rotor_that_turns_with_a_closed_loop_is_placed_by_its_bodies() -> None:
    # The second joint closes the loop: its rate follows from the twist of the body.
    body = mb.rigid_body(1.0, [0.1, 0.2, 0.3], gravity=(0.0, 0.0, 0.0))
    free, rotor = mb.joint(mb.Revolute(), armature=0.7), mb.joint(mb.Revolute(), armature=0.2)
    joints = {"a": mb.Between("ground", "b", free), "c": mb.Between("ground", "b", rotor)}
    equations = assemble(mb.mechanism({"b": body}, joints))
    x = mb.consistent_state(equations, velocities={"a": 2.0})
    assert equations.storages.energy(x) == pytest.approx(0.5 * (0.3 + 0.7 + 0.2) * 4.0)
    motion = simulate(equations, x, steps=50)
    assert mb.joint_velocities(equations, motion.final)["c"][0] == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize(("pair", "value"), [(mb.Revolute(), -1.0), (mb.Cylindrical(), 0.1)])
def test_armature_that_means_nothing_is_refused(pair: mb.LowerPair, value: float) -> None:
    with pytest.raises(StructureError, match="armature must be finite, not negative"):
        mb.joint(pair, armature=value)


def test_a_robot_whose_fluid_the_system_lacks_is_refused() -> None:
    # Without added mass, buoyancy and drag its accelerations would be wrong by their whole size.
    robot, model = robots.get("bluerov2_alpha5"), robots.load("bluerov2_alpha5")
    equations = assemble(mb.from_urdf(robot.description(), robot.base, robot.gravity), check=False)
    q, v = model.neutral_configuration(), np.zeros(model.nv)
    with pytest.raises(
        ModelError, match="is in a fluid, but the system was made without; give fluid"
    ):
        mb.state_of(equations, model, q, v)
    wet = mb.from_urdf(robot.description(), robot.base, robot.gravity, fluid=model.fluid)
    dry = VMSModel.from_urdf(robot.description(), robot.base, gravity=robot.gravity)
    with pytest.raises(ModelError, match="in a fluid, but its model is without"):
        mb.state_of(assemble(wet, check=False), dry, q, v)


PENDULUM = """
<robot name="pendulum"><link name="base"/>
  <link name="rod"><inertial><mass value="1"/><origin xyz="0 0 -0.3"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/>
    <axis xyz="0 1 0"/>{}</joint>
</robot>"""


def test_heat_of_joints_without_friction_is_refused() -> None:
    warm = mb.Heat(capacity=2.0)
    with pytest.raises(
        ModelError, match=r"without friction make none; .* are: none; add <dynamics"
    ):
        mb.from_urdf(PENDULUM.format(""), heat=warm)
    rubbing = PENDULUM.format('<dynamics damping="0.1"/>')
    with pytest.raises(ModelError, match=r"for knee, but joints .* with friction are: hinge"):
        mb.from_urdf(rubbing, heat={"hinge": warm, "knee": warm})
    assert "hinge.th" in assemble(mb.from_urdf(rubbing, heat=warm)).layout.components
    with pytest.raises(StructureError, match="has no effect; give the capacity too"):
        mb.Heat(conductance=0.1)
    with pytest.raises(StructureError, match="heat is given for a revolute pair without friction"):
        mb.joint(mb.Revolute(), heat=warm)
