# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers as boxes of a system: power through their ports, and the certificate of passivity."""

from dataclasses import replace

import numpy as np
import pytest

from ephs.driven_arm import HOME, arm
from vms_ph_controllers import (
    Command,
    Controller,
    DecoupledVMSController,
    EndEffectorImpedance,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.errors import ModelError
from vms_ph_ephs import PatternError
from vms_ph_ephs.control import (
    ControlledRun,
    PassivityCertificate,
    controlled,
    tank_storage,
)
from vms_ph_ephs.equations.assembly import port_powers
from vms_ph_ephs.multibody.urdf import from_pinocchio
from vms_ph_hopping.laws.hopping import HoppingController
from vms_ph_io import robots

AWAY = HOME + np.array([0.15, -0.1])


def spatial_arm() -> VMSModel:
    parts = ['<robot name="spatial"><link name="l0"/>']
    for k, (axis, z) in enumerate((("0 0 1", 0.2), ("0 1 0", 0.1), ("0 1 0", 0.3))):
        parts.append(
            f'<link name="l{k + 1}"><inertial><origin xyz="0 0 0.15"/><mass value="1"/>'
            '<inertia ixx="0.01" iyy="0.01" izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<origin xyz="0 0 {z}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="50" velocity="9"/></joint>'
        )
    parts.append(
        '<link name="tip"/><joint name="end" type="fixed"><parent link="l3"/><child link="tip"/>'
        '<origin xyz="0 0 0.3"/></joint></robot>'
    )
    return VMSModel.from_urdf("".join(parts), base="fixed", end_effector="tip")


def test_what_the_joints_receive_is_what_the_store_of_the_box_loses() -> None:
    run = ControlledRun(EndEffectorImpedance(arm()), HOME, held=AWAY)
    start = run.store
    run.advance(10)
    powers = port_powers(run.equations, run._simulation.x)
    into = sum(powers[f"controller.law.{name}"] for name in ("shoulder", "elbow"))
    assert into < -0.1
    assert powers["controller.law.store"] == pytest.approx(-into, rel=1e-12)
    work = run.certificate.supplied
    assert start - run.store == pytest.approx(work, abs=1e-12)
    d = run._model.evaluate(*run.motion())
    rest = run._model.evaluate(HOME, np.zeros(2))
    gained = d.kinetic_energy + d.potential_energy - rest.potential_energy
    # The rest has become heat; smoothed dry friction at rest is the error of the scheme.
    entropy = run.equations.storages.entropy(run._simulation.x)
    assert gained + run.equations.theta_0 * entropy == pytest.approx(work, abs=1e-7)


class Shaken(EndEffectorImpedance):
    """A law that pushes along with the motion after some updates."""

    updates = 0

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        command = super().update(state, reference, dt)
        self.updates += 1
        push = 12.0 * state.v if self.updates > 13 else 0.0
        return replace(command, torque=command.torque + push)


def test_the_certificate_names_the_step_from_which_a_law_gives_more_than_it_stores() -> None:
    # The held force of the first step finds no damping yet, and gives 5e-8 J too much.
    sound = ControlledRun(EndEffectorImpedance(arm()), HOME, held=AWAY)
    (only,) = sound.advance(16)
    assert only.step == 0
    assert 0.0 < only.excess < 1e-7
    assert "step 0, at 0.001 s" in str(sound.certificate)
    shaken = ControlledRun(Shaken(arm()), HOME, held=AWAY, tolerance=1e-6)
    breaches = shaken.advance(16)
    assert breaches[0].step == 13
    assert breaches[0].excess > 1e-5
    assert "not passive: step 13, at 0.014 s" in str(shaken.certificate)


def test_a_moving_reference_is_covered_by_the_tank_of_a_law_and_by_nothing_without_one() -> None:
    found = {}
    for capacity in (0.0, 2.0):
        law = TaskSpaceIDAPBC(model := spatial_arm())
        law.gains = replace(law.gains, tank_capacity=capacity, tank_initial=0.5 * capacity)
        q = np.array([0.1, 0.6, 0.9])
        run = ControlledRun(law, q)
        tip = model.evaluate(q, np.zeros(3)).placement("tip")[:3, 3]
        run.advance(20, Reference(position=tip + np.array([0.0, 0.1, 0.05])))
        found[capacity] = run.certificate
    assert found[2.0].holds
    assert found[2.0].supplied > 1e-4
    assert found[2.0].least > -1e-12
    assert "passive in all 20 steps" in str(found[2.0])
    assert len(found[0.0].breaches) > 10


class Grounded(EndEffectorImpedance):
    """A law that forgets the base."""

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        return replace(super().update(state, reference, dt), wrench_base=np.zeros(0))


def home_of(model: VMSModel) -> np.ndarray:
    return model.configuration(robots.get(model.name).home)


@pytest.mark.parametrize(
    ("name", "kind", "base"),
    [
        ("satellite_panda", EndEffectorImpedance, "base_link"),
        ("omnidirectional_panda", DecoupledVMSController, "root_joint"),
        ("bluerov2_alpha5", DecoupledVMSController, "base_link"),
    ],
)
def test_a_law_on_a_moving_base_gives_what_base_and_joints_receive(
    name: str, kind: type[Controller], base: str
) -> None:
    model = robots.load(name)
    q = model.configuration(robots.get(name).home)
    away = np.full(model.nv, 0.02)
    away[3 : model.b] = 0.0
    # The held force of the first step finds no damping yet; see above.
    run = ControlledRun(kind(model), q, held=model.integrate(q, away), tolerance=1e-8)
    assert base in run.system.fillings["controller"].interface
    run.advance(4)
    assert run.certificate.holds
    assert run.certificate.supplied > 1e-6
    d, rest = model.evaluate(*run.motion()), model.evaluate(q, np.zeros(model.nv))
    gained = d.kinetic_energy + d.potential_energy - rest.potential_energy
    heat = run.equations.theta_0 * run.equations.storages.entropy(run._simulation.x)
    assert heat > 0.0  # of the joints, and of the water around the vehicle
    assert gained + heat == pytest.approx(run.certificate.supplied, abs=1e-12)


def test_a_storage_that_is_not_a_number_is_a_breach() -> None:
    certificate = PassivityCertificate(1.0)
    assert certificate.step(0.1, 0.2, 0.7) is None
    assert certificate.dissipated == pytest.approx(0.1)
    assert certificate.step(0.2, 0.0, float("nan")) is not None
    assert not certificate.holds


def test_robots_and_ports_that_a_box_cannot_have_are_refused() -> None:
    leg = robots.load("prismatic_hopper")
    with pytest.raises(ModelError, match="rotational inertia"):
        ControlledRun(HoppingController(leg), leg.neutral_configuration())
    with pytest.raises(ModelError, match=r"base wrench of shape \(0,\).*takes \(6,\) and \(7,\)"):
        ControlledRun(Grounded(satellite := robots.load("satellite_panda")), home_of(satellite))
    with pytest.raises(PatternError, match=r"no port 'knee'.*shoulder, elbow"):
        controlled(from_pinocchio(arm().pinocchio), ("knee",))
    stored = tank_storage(arm())(Command(np.zeros(0), np.zeros(2)), HOME, np.zeros(2))
    assert stored == pytest.approx(-arm().evaluate(HOME, np.zeros(2)).potential_energy)
