"""Joint limits, singular postures, and input that no controller should get."""

import numpy as np
import pytest

from vms_ph_controllers import (
    Controller,
    DecoupledVMSController,
    EndEffectorImpedance,
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.laws.split_motion import split
from vms_ph_controllers.potentials.joint_limit_potential import JointLimitPotential
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.structure import CanonicalForm, Ports
from vms_ph_io import robots

from .closed_loops import HOLD, Q0, Sampled

REST = np.zeros(7)
SINGULAR = np.array([1.686, 0, np.pi / 2, -3.0, 0, 2.665, -2.897])
Gains = TaskSpaceIDAPBC.Gains


@pytest.fixture
def law(panda: VMSModel) -> TaskSpaceIDAPBC:
    controller = TaskSpaceIDAPBC(panda)
    controller.reset(RobotState(Q0, REST))
    return controller


def test_springs_keep_the_joints_off_their_limits(panda: VMSModel) -> None:
    # A hard push along joint 4 towards its upper limit.
    limit = panda.joints.upper[3]
    q = Q0.copy()
    q[3] = limit - 0.2
    reached = []
    for stiffness in (0.0, 1000.0):
        controller = TaskSpaceIDAPBC(panda, gains=Gains(stiffness=1.0, limit_stiffness=stiffness))
        controller.reset(RobotState(q, REST))
        v = REST.copy()
        v[3] = 2.0
        loop = Sampled(panda, controller, q, v)
        furthest = -np.inf
        for _ in range(30):
            loop.run(0.02)
            furthest = max(furthest, loop.q[3])
        reached.append(furthest)
    assert reached[0] > limit
    assert reached[1] < limit


def test_the_springs_at_the_limits_are_part_of_the_energy_that_falls(
    panda: VMSModel, law: TaskSpaceIDAPBC, rng: np.random.Generator
) -> None:
    form, step = CanonicalForm(panda), 1e-6
    q = Q0.copy()
    law.gains = Gains(stiffness=3.0)
    q[3], q[5] = panda.joints.upper[3] - 0.01, panda.joints.lower[5] + 0.02
    for _ in range(10):
        v = rng.uniform(-0.3, 0.3, 7)
        command = law.update(RobotState(q, v), HOLD, 1e-3)
        assert command.energy.shaped_potential > 1.5 * float((q - Q0) @ (q - Q0))
        rate = form.rate(form.state(q, v), Ports(command.torque))
        ahead, behind = (
            law.update(RobotState(q + s * v, REST), HOLD, 1e-3).energy.shaped_potential
            for s in (step, -step)
        )
        kinetic = float(form.gradient(form.state(q, v)) @ form.layout(rate))
        damping = command.energy.damping_task + command.energy.damping_null
        # The central difference of a quadratic potential is exact up to rounding over the step.
        assert kinetic + (ahead - behind) / (2 * step) == pytest.approx(-damping, abs=1e-7)


def test_the_minimum_keeps_the_margin_of_the_limits(panda: VMSModel, law: TaskSpaceIDAPBC) -> None:
    for _ in range(3000):
        law.update(RobotState(Q0, REST), Reference(position=np.array([0.3, 0.9, 0.1])), 5e-3)
    assert (law.q_star >= panda.joints.lower + 0.05 - 1e-12).all()
    assert (law.q_star <= panda.joints.upper - 0.05 + 1e-12).all()


def test_a_reference_out_of_reach_gets_the_nearest_minimum_and_one_in_reach_again_is_met(
    panda: VMSModel, law: TaskSpaceIDAPBC
) -> None:
    state = RobotState(Q0, REST)
    law.gains = Gains(stiffness=1.0)
    for _ in range(2000):
        command = law.update(state, Reference(position=np.array([0.0, 3.0, 0.5])), 1e-2)
    assert command.status is Status.DEGRADED
    assert "cannot follow" in command.reason
    at = law.task.value(panda.evaluate(law.q_star, REST))
    # Fully stretched towards it: the shoulder is at 0.333 m, and 0.85 m reach from there.
    along = np.array([0.0, 3.0, 0.5 - 0.333])
    assert (at - [0, 0, 0.333]) @ along / np.linalg.norm(along) > 0.84
    goal = np.array([0.3, 0.3, 0.6])
    for _ in range(700):
        command = law.update(state, Reference(position=goal), 1e-2)
    np.testing.assert_allclose(law.task.value(panda.evaluate(law.q_star, REST)), goal, atol=1e-6)
    assert "cannot follow" not in command.reason


def test_no_reference_moves_the_minimum_faster_than_the_joints_can(
    panda: VMSModel, law: TaskSpaceIDAPBC
) -> None:
    before = law.q_star
    for k in range(400):
        goal = np.array([0.2 * (-1) ** (k // 50), 0.6, 0.9])
        law.update(RobotState(Q0, REST), Reference(position=goal), 1e-2)
        moved = np.abs(law.q_star - before)
        assert (moved <= 1e-2 * panda.joints.velocity * (1 + 1e-9)).all()
        before = law.q_star


def test_a_reference_that_is_not_finite_is_reported(law: TaskSpaceIDAPBC) -> None:
    bad = Reference(position=np.array([np.nan, 0.0, 0.0]))
    command = law.update(RobotState(Q0, REST), bad, 1e-3)
    assert command.status is Status.HOLDING
    assert "reference is not finite" in command.reason
    assert law.update(RobotState(Q0, REST), HOLD, 1e-3).status is Status.OK
    assert law.update(RobotState(Q0, REST), Reference(np.zeros(2)), 1e-3).status is Status.HOLDING


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan])
def test_a_time_step_that_is_none_moves_nothing(law: TaskSpaceIDAPBC, dt: float) -> None:
    command = law.update(RobotState(Q0, REST), Reference(position=np.zeros(3)), dt)
    np.testing.assert_array_equal(law.q_star, Q0)
    assert np.isfinite(command.torque).all()
    assert command.energy.reference_power == 0.0


@pytest.mark.parametrize("q", [np.zeros(3), Q0 + np.inf], ids=["short", "infinite"])
def test_a_state_that_is_none_of_the_robot_gets_the_safe_torque(
    panda: VMSModel, law: TaskSpaceIDAPBC, q: np.ndarray
) -> None:
    command = law.update(RobotState(q, REST), HOLD, 1e-3)
    assert command.status is Status.HOLDING
    np.testing.assert_allclose(command.torque, panda.evaluate(Q0, REST).g)


def test_the_damping_is_continuous_through_a_singular_posture(panda: VMSModel) -> None:
    # As the sixth joint passes, the rank falls to two and back; N^T N alone would jump there.
    controller = TaskSpaceIDAPBC(panda)
    jumps, plain_jumps = [], []
    before = before_plain = None
    direction = np.array([0.1, 0.3, 0.2, 0.2, -0.4, 1.0, 0.1])
    for s in np.linspace(-5e-3, 5e-3, 2001):
        d = panda.evaluate(SINGULAR + np.array([0, 0, 0, 0, 0, 6e-6, 0]) + s * direction, REST)
        jacobian = controller.task.jacobian(d)
        n = split(d, jacobian, 0.03).null_map
        z = np.linalg.svd(jacobian)[2][3:]
        plain = np.linalg.solve(z @ d.M @ z.T, z @ d.M)
        damping, plain = n.T @ n, plain.T @ plain
        if before is not None:
            jumps.append(np.abs(damping - before).max())
            plain_jumps.append(np.abs(plain - before_plain).max())
        before, before_plain = damping, plain
    assert max(plain_jumps) > 1.0
    assert max(jumps) < 0.05


def test_the_split_joins_the_regular_one_at_the_threshold(panda: VMSModel) -> None:
    d = panda.evaluate(Q0, np.linspace(-1, 1, 7))
    jacobian = TaskSpaceIDAPBC(panda).task.jacobian(d)
    smallest = np.linalg.svd(jacobian, compute_uv=False)[-1]
    regular, handed = (split(d, jacobian, smallest * f) for f in (1 - 1e-9, 1 + 1e-9))
    assert regular.is_regular
    assert not handed.is_regular
    assert handed.kinetic_null == pytest.approx(regular.kinetic_null, rel=1e-6)
    np.testing.assert_allclose(
        handed.null_map.T @ handed.nu, regular.null_map.T @ regular.nu, atol=1e-6
    )


def test_near_a_singularity_the_law_stays_passive(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    controller = TaskSpaceIDAPBC(panda)
    controller.set_minimum(SINGULAR)
    form = CanonicalForm(panda)
    for away in (0.0, 1e-6, 1e-3, 1e-2):
        q, v = SINGULAR + away * rng.normal(size=7), rng.uniform(-0.2, 0.2, 7)
        command = controller.update(RobotState(q, v), HOLD, 1e-3)
        assert command.status is Status.DEGRADED
        energy = command.energy
        rate = form.rate(form.state(q, v), Ports(command.torque))
        stored = float(form.gradient(form.state(q, v)) @ form.layout(rate))
        depth = JointLimitPotential(panda).depth(q, 0.05)
        stored += float((30.0 * (q - SINGULAR) + 100.0 * depth) @ v)
        damping = energy.damping_task + energy.damping_null
        assert stored == pytest.approx(-damping, abs=1e-10)
        assert min(energy.damping_task, energy.damping_null, energy.kinetic_task) >= 0.0


def test_implicit_damping_takes_energy_and_is_the_explicit_one_at_high_rates(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    laws = [TaskSpaceIDAPBC(panda, gains=Gains(implicit_damping=on)) for on in (False, True)]
    for dt in (1e-7, 1e-3, 1e-1):
        state = RobotState(Q0 + rng.uniform(-0.2, 0.2, 7), rng.uniform(-1, 1, 7))
        for law in laws:
            law.reset(RobotState(Q0, REST))
        explicit, implicit = (law.update(state, HOLD, dt) for law in laws)
        taken = implicit.energy.damping_task + implicit.energy.damping_null
        # Held for the sample, D w takes no more than there is: w^T M w <= v^T M v.
        held = explicit.energy.damping_task + explicit.energy.damping_null
        assert 0.0 < taken <= held
        if dt == 1e-7:
            np.testing.assert_allclose(implicit.torque, explicit.torque, rtol=1e-3)


def test_arms_with_and_without_redundancy_are_served() -> None:
    xml = robots.get("panda").description()
    held = {"panda_joint3": 0.0, "panda_joint5": 0.0, "panda_joint6": 1.5, "panda_joint7": 0.0}
    three = VMSModel.from_urdf(xml, end_effector="panda_link8", locked_joints=held)
    for model in (three, robots.load("baxter")):
        q = model.neutral_configuration() + 0.3
        controller = TaskSpaceIDAPBC(model, routing="cancel")
        controller.reset(RobotState(q, np.zeros(model.nv)))
        state = RobotState(q + 0.01, np.full(model.nv, 0.1))
        energy = controller.update(state, HOLD, 1e-3).energy
        assert energy.damping_task > 0.0
        assert abs(energy.routing_power) < 1e-12
        if model is three:
            assert (energy.kinetic_null, energy.null_to_task) == (0.0, 0.0)


def test_gains_that_are_no_record_of_the_law_are_refused(panda: VMSModel) -> None:
    with pytest.raises(ModelError, match=r"a record, TaskSpaceIDAPBC\.Gains\(stiffness=\.\.\.\)"):
        TaskSpaceIDAPBC(panda, gains={"stiffness": 40.0})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [DecoupledVMSController, EndEffectorImpedance])
def test_a_reference_beyond_all_bounds_ends_in_the_safe_output(kind: type[Controller]) -> None:
    model = robots.load("satellite_panda" if kind is DecoupledVMSController else "panda")
    controller, q, far = kind(model), model.neutral_configuration(), np.eye(4)
    q[-7:], far[0, 3] = Q0, 1e307
    rest = RobotState(q, np.zeros(model.nv))
    controller.reset(rest)
    weight = model.evaluate(q, rest.v).g
    with np.errstate(all="ignore"):
        for reference in (Reference(pose=far), HOLD, HOLD):
            command = controller.update(rest, reference, 1e-3)
            assert command.status is Status.HOLDING
            assert "the next reset" in command.reason
            force = np.concatenate([command.wrench_base, command.torque])
            np.testing.assert_allclose(force, weight, atol=1e-12)
    controller.reset(rest)
    assert controller.update(rest, HOLD, 1e-3).status is Status.OK
