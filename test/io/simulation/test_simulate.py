# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loops in one call: programs written by guess run, or fail with the sentence that mends."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import (
    Command,
    Controller,
    DecoupledVMSController,
    EnergyGuard,
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
    UnderactuatedFlight,
)
from vms_ph_dynamics import (
    Array,
    Friction,
    ModelError,
    OptionError,
    StandardForm,
    StateError,
    VMSModel,
    VmsPhError,
    integrate,
)
from vms_ph_dynamics.nonholonomic import wheeled_form
from vms_ph_dynamics.simulation import FormEngine, Mechanism, Payload, WaterCurrent
from vms_ph_io import Push, Trajectory, audit, load_urdf, robots, simulate
from vms_ph_io.audits.run_record import read_run
from vms_ph_io.recordings.from_messages import read_messages
from vms_ph_io.simulation import ControlFault, SimulationStopped
from vms_ph_io.tasks.uncertainty import Uncertainty

GOLDEN = Path(__file__).parents[2] / "golden/native"
PUSH = Push("wrench_end_effector", [0, 15, 0, 0, 0, 0], start=0.02, duration=0.03)


def test_the_energy_balance_of_a_pushed_arm_in_eight_lines() -> None:
    push = Push("wrench_end_effector", [0, 15, 0, 0, 0, 0], start=0.05, duration=0.1)
    run = simulate("panda", TaskSpaceIDAPBC, seconds=0.2, disturbances=[push])
    assert len(str(run.audit).splitlines()) <= 10
    assert "verdict: closed" in str(run.audit)
    pushed = run.power["wrench_end_effector"] != 0.0
    np.testing.assert_allclose(run.t[pushed][[0, -1]], [0.05, 0.15], atol=1e-9)
    assert run.wrenches["wrench_end_effector"][100, 1] == 15.0
    assert run.energy.shape == run.t.shape == (201,)


def test_a_hexarotor_with_an_arm_flies_to_a_pose_and_is_plotted_in_eight_lines(
    tmp_path: Path,
) -> None:
    goal = np.eye(4)
    goal[:3, 3] = [0.1, 0.05, 0.05]
    reference = Reference(pose=goal)
    run = simulate("hextilt", DecoupledVMSController, 3.0, reference=reference, rate=200)
    run.plot().savefig(tmp_path / "flight.png")
    np.testing.assert_allclose(run.q[-1, :3], goal[:3, 3], atol=0.02)
    assert (tmp_path / "flight.png").stat().st_size > 10_000


def test_a_law_with_a_wrong_sign_behind_a_guard_keeps_its_budget_in_fifteen_lines() -> None:
    model = robots.load("panda")

    def law(q: Array, v: Array, dt: float) -> Array:
        d = model.evaluate(q, v)
        return d.g + 4.0 * model.difference(model.home, q) + 1.0 * v

    run = simulate(model, EnergyGuard(law, budget=1.0), seconds=0.3, v=np.full(7, 0.2))
    assert run.certificate is not None
    assert run.certificate.lost == 0
    assert run.certificate.verdict == "kept"
    assert run.certificate.given < 1.0
    assert "budget       1 J" in str(run.certificate)
    level, clipped = run.control["tank_level"], run.control["clipped_power"]
    assert 0.0 <= level.min() < 0.5
    assert level.max() <= 1.0 + 1e-9
    assert 0 < np.count_nonzero(clipped) <= sum(run.limited.values())
    when = run.t[run.control["status"] > 0]  # it was limited
    assert len(when) == sum(run.limited.values())
    assert set(run.t[clipped != 0.0]) <= set(when)
    same = simulate(model, law, 0.3, v=np.full(7, 0.2), guard=EnergyGuard(budget=1.0))
    np.testing.assert_array_equal(same.q, run.q)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"robot": "pandas"},
            r"there is no robot 'pandas' \(did you mean 'panda'\?\); bundled are panda",
        ),
        (
            {"disturbances": [Push("end_effector", np.ones(6))]},
            r"no port of 'panda'; its ports are torque, wrench_base, wrench_end_effector",
        ),
        (
            {"disturbances": [Push("torque", [1.0, 2.0])]},
            r"torque must have shape \(7,\).*panda_joint1, panda_joint2",
        ),
        (
            {"disturbances": [Push("wrench_base", np.ones(6))]},
            r"wrench_base must have shape \(0,\).*its base is fixed",
        ),
        (
            {
                "robot": "hextilt",
                "effects": ["actuators"],
                "disturbances": [Push("wrench_base", np.ones(6))],
            },
            r"with actuators, wrench_base is what they give; push 'hextilt__base_link' as a tool",
        ),
        ({"law": lambda q, v: q}, r"called as <lambda>\(q, v, dt\) and returns torques"),
        (
            {"law": lambda q, v, dt: np.zeros(6)},
            r"at 0 s <lambda> returned shape \(6,\).*torques \(7,\) of the joints panda_joint1",
        ),
        ({"law": 3.0}, r"a law is a class derived from Controller"),
        ({"law": "TaskSpaceIDAPCB"}, r"did you mean 'TaskSpaceIDAPBC'\?"),
        ({"law": TaskSpaceIDAPBC, "guard": 1.0}, r"a guard is EnergyGuard\(budget=1.0\)"),
        ({"guard": EnergyGuard(budget=1.0)}, r"guard and driver need a law"),
        ({"law": TaskSpaceIDAPBC, "reference": "home"}, r"a reference is Reference\(position="),
        ({"q": np.zeros(6)}, r"q must have shape \(7,\)"),
        ({"effects": ["wind"]}, r'an effect is "friction", "joint_stops"'),
        ({"scheme": "euler"}, r"there is no scheme 'euler'; there are projected_rk4"),
        ({"seconds": 0.0}, r"seconds and rate must be above zero"),
        ({"robot": "Panda"}, r"did you mean 'panda'\?"),
        ({"duration": 1.0}, r"no argument 'duration'; use seconds"),
        ({"dt": 1e-3}, r"no argument 'dt'; use rate=1/dt, in Hz"),
        ({"movie": True}, r"no argument 'movie'; its arguments are robot, law, seconds"),
        ({"disturbances": [("torque", np.ones(7))]}, r"a disturbance is Push\(port, effort"),
        (
            {"law": lambda q, v, dt: Command(torque=np.zeros(6))},
            r"returned a torque of shape \(6,\); that of 'panda' has \(7,\)",
        ),
    ],
)
def test_a_wrong_guess_is_answered_by_the_sentence_that_mends_it(
    arguments: dict[str, object], sentence: str
) -> None:
    with pytest.raises(VmsPhError, match=sentence):
        simulate(**{"robot": "panda", "seconds": 0.01, **arguments})  # type: ignore[arg-type]


def test_an_end_effector_that_the_robot_lacks_is_answered_by_its_links() -> None:
    with pytest.raises(VmsPhError, match="panda_link7"):
        robots.get("panda").model(robots.get("panda").description(), end_effector="hand")


def test_a_law_that_raises_ends_the_run_with_law_time_and_cause(panda: VMSModel) -> None:
    def my_law(q: Array, v: Array, dt: float) -> Array:
        my_law.calls += 1  # type: ignore[attr-defined]
        if my_law.calls > 3:  # type: ignore[attr-defined]
            raise ZeroDivisionError("division by zero")
        return np.zeros(7)

    my_law.calls = 0  # type: ignore[attr-defined]
    with pytest.raises(ControlFault, match=r"at 0\.003 s my_law raised ZeroDivisionError: divi"):
        simulate(panda, my_law, 0.01)
    with pytest.raises(ControlFault, match=r"at 0 s .* nan as the torque of joint 'panda_joint3'"):
        simulate(panda, lambda q, v, dt: [0, 0, np.nan, 0, 0, 0, 0], 0.01)


def test_a_certificate_counts_the_failures_of_a_law_and_names_the_first(panda: VMSModel) -> None:
    def law(q: Array, v: Array, dt: float) -> Array:
        raise RuntimeError("a bug of mine")

    run = simulate(panda, EnergyGuard(law, budget=1.0), 0.01)
    assert run.certificate is not None
    assert run.certificate.law_failures == run.certificate.samples == 11
    header = str(run.certificate).splitlines()[0]
    assert "the law failed in 11 of 11 updates, first: RuntimeError: a bug of mine;" in header


def test_a_law_without_gains_whose_commands_have_torques_alone_runs_on_a_fixed_base(
    panda: VMSModel,
) -> None:
    class Weight(Controller):
        def reset(self, state: RobotState) -> None:
            pass

        def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
            return Command(torque=self.model.evaluate(state.q, state.v).g)

    run = simulate(panda, Weight, 0.02)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-9)


def test_friction_that_the_description_does_not_have_takes_energy(panda: VMSModel) -> None:
    friction = Friction(viscous=np.full(7, 2.0), coulomb=np.zeros(7))
    run = simulate(panda.without_gravity(), None, 0.1, v=np.full(7, 0.5), effects=[friction])
    assert run.dissipated[-1] > 0.1
    assert run.energy[-1] - run.energy[0] == pytest.approx(-run.dissipated[-1], rel=1e-6)


@pytest.mark.parametrize(
    ("name", "meant"), [("mass_matrix", "use M"), ("locked_velocity", "use v_hat")]
)
def test_a_term_with_a_name_of_other_libraries_is_answered_by_ours(
    panda: VMSModel, name: str, meant: str
) -> None:
    with pytest.raises(AttributeError, match=meant):
        getattr(panda.evaluate(panda.home, np.zeros(7)), name)


def test_gains_of_a_real_arm_hold_the_fr3_and_a_joint_without_a_rotor_is_named() -> None:
    robot, stiffness = robots.get("fr3"), np.array([24.0, 24.0, 24.0, 24.0, 10.0, 6.0, 2.0])
    damping = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.5])  # of Franka's joint impedance example
    fr3 = robots.load("fr3")
    light = robot.model(re.sub(' armature="[0-9.]+"', "", robot.description()))

    def hold(q: Array, v: Array, dt: float) -> Array:
        weight = fr3.evaluate(q, np.zeros(7)).g
        return weight + stiffness * (fr3.home + 0.2 - q) - damping * v

    assert np.abs(simulate(fr3, hold, 0.3).v).max() < 2.0
    with pytest.raises(SimulationStopped, match=r"'fr3_joint7' moves 0\.00.* state armature="):
        simulate(light, hold, 0.3)


def test_a_motion_that_diverges_has_its_trajectory_up_to_there(panda: VMSModel) -> None:
    push = Push("torque", np.full(7, 1e200), start=0.005)
    with pytest.raises(SimulationStopped, match=r"beyond 0\.00") as stopped:
        simulate(panda, seconds=0.02, disturbances=[push])
    assert 1 <= len(stopped.value.trajectory) < 20


def test_a_function_commands_base_and_joints_of_a_moving_base() -> None:
    model = robots.load("satellite_panda")
    force = np.zeros(model.nv)
    force[0] = 2.0
    by_array = simulate(model, lambda q, v, dt: force, 0.05)
    by_command = simulate(model, lambda q, v, dt: Command(force[:6], force[6:]), 0.05)
    np.testing.assert_array_equal(by_array.v, by_command.v)
    assert by_array.power["wrench_base"][-1] > 0.0


def test_references_are_constant_functions_of_time_or_trajectories() -> None:
    place = robots.load("panda").placement("panda_link8", robots.load("panda").home)[:3, 3]
    goal = place + np.array([0.0, 0.02, 0.0])
    kinds = (goal.tolist(), Reference(position=goal), lambda t: Reference(position=goal))
    runs = [simulate("panda", TaskSpaceIDAPBC, 0.05, reference=kind) for kind in kinds]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.q, runs[0].q)
    assert np.abs(runs[0].v).max() > 1e-3
    law = DecoupledVMSController
    first = simulate("satellite_panda", lambda q, v, dt: 0.5 * np.ones(7), 0.2, rate=200)
    followed = simulate("satellite_panda", law, 0.2, rate=200, reference=first)
    assert followed.v[-1, 6:] @ first.v[-1, 6:] > 0.0


def test_a_law_that_asks_more_than_the_actuators_give_is_named_in_what_the_run_prints() -> None:
    push = Push("wrench_end_effector", [2, 0, 0, 0, 0, 0], axes="world", duration=0.2)
    law, acting = DecoupledVMSController, {"effects": "actuators", "disturbances": push}
    run = simulate("borinot", law, 0.5, rate=200, **acting)  # type: ignore[arg-type]
    wanted = "in 100 samples the law was not OK, first at 0.005 s: SATURATED, the base has no "
    assert f"{wanted}actuator for" in repr(run)
    assert not simulate("panda", TaskSpaceIDAPBC, 0.01).limited


def test_what_goes_beyond_the_limits_of_the_description_is_said_with_the_balance() -> None:
    run = simulate("panda", lambda q, v, dt: [500.0] + 6 * [0.0], 0.05)
    torque, speed = run.notes[:2]
    assert torque.endswith(
        "a torque was beyond its limit: panda_joint1 had 500, its limit is 87 N m"
    )
    assert "a speed was beyond its limit: panda_joint" in speed
    assert str(run.audit).endswith("\n".join(run.notes))
    assert not simulate("panda", TaskSpaceIDAPBC, 0.05).notes


def test_reasons_that_differ_by_numbers_alone_are_counted_as_one() -> None:
    def weak(q: Array, v: Array, dt: float) -> Command:
        reason = f"panda_joint{1 + (q[0] > 0.001)} at {q[0]:.3g} is outside"
        torque = np.array([30.0, *6 * [0.0]])
        return Command(np.zeros(0), torque, status=Status.SATURATED, reason=reason)

    run = simulate("panda", weak, 0.02)
    assert len(run.limited) == 2  # joints, not positions
    assert sum(run.limited.values()) == len(run)


def test_effects_combine_and_the_balance_of_energy_closes() -> None:
    door = Mechanism(np.array([0.0, 0.5, 0.0]), np.array([0.0, 0.0, 1.0]), 2.0)
    run = simulate(
        "panda",
        TaskSpaceIDAPBC,
        0.1,
        effects=["friction", "joint_stops", door, FormEngine("projected_midpoint")],
        disturbances=[Push("wrench_end_effector", [5, 0, 0, 0, 0, 0], axes="world")],
    )
    assert run.dissipated[-1] > 0.0
    assert run.audit.is_closed
    payload = Payload(0.5, np.full(3, 1e-3), capture_time=0.05, reach=0.5)
    taken = simulate("panda", TaskSpaceIDAPBC, 0.1, effects=[payload])
    assert taken.port_energy["payload"][-1] != 0.0
    assert taken.audit.is_closed
    flown = simulate("hextilt", "DecoupledVMSController", 0.1, rate=200, effects=["actuators"])
    assert flown.audit.is_closed


def test_a_law_whose_model_has_the_payload_carries_its_weight(panda: VMSModel) -> None:
    def sag(in_model: bool, **options: Any) -> float:
        payload = Payload(1.5, np.full(3, 2e-3), capture_time=0.1, reach=0.5, in_model=in_model)
        push = Push("torque", np.zeros(7), start=0.02, duration=0.01)  # nothing happens then
        run = simulate("panda", TaskSpaceIDAPBC, 1.0, rate=500, effects=[payload],
                       disturbances=[push], **options)  # fmt: skip
        assert run.audit.is_closed
        taken = run.t[np.flatnonzero(run.port_energy["payload"])[0]]
        assert taken == pytest.approx(0.1, abs=3e-3)
        places = [panda.placement(panda.end_effector, q)[2, 3] for q in (run.q[0], run.q[-1])]
        return places[0] - places[1]

    without = sag(False)
    assert without > 5e-3
    for options in ({}, {"guard": EnergyGuard(budget=5.0)}):
        assert abs(sag(True, **options)) < 0.2 * without
    payload = Payload(0.5, np.full(3, 1e-3), capture_time=0.05, reach=0.5)
    with pytest.raises(OptionError, match=r"give its class, or Payload\(\.\.\., in_model=False\)"):
        simulate(panda, TaskSpaceIDAPBC(panda), 0.1, effects=[payload])


def test_what_would_lose_the_wheels_of_a_robot_is_refused() -> None:
    model = load_urdf(GOLDEN / "differential_drive.urdf", base="planar")
    cart = wheeled_form(model, {"left": 0.1, "right": 0.1})
    payload = Payload(0.5, np.full(3, 1e-3), capture_time=0.05, reach=0.5)
    for options in ({"effects": [payload]}, {"uncertainty": Uncertainty(mass=0.1)}):
        with pytest.raises(OptionError, match="without wheels that do not slip"):
            simulate(cart, None, 0.1, **options)


def test_an_integrated_motion_and_a_simulated_one_have_one_vocabulary(panda: VMSModel) -> None:
    form, v = StandardForm(panda), np.full(7, 0.1)
    ours = integrate(form, form.state(panda.home, v), dt=1e-3, steps=20)
    simulated = simulate(panda, seconds=0.02, v=v)
    for name in ("t", "q", "v", "energy"):
        np.testing.assert_allclose(getattr(ours, name), getattr(simulated, name), atol=1e-12)
    assert str(ours.audit).splitlines()[0] == str(simulated.audit).splitlines()[0]
    with pytest.raises(VmsPhError, match=r"\(N,14\) as 'satellite_panda'; given: \(21, 7\)"):
        simulate("satellite_panda", DecoupledVMSController, 0.01, reference=ours)


def test_the_same_seed_draws_the_same_start() -> None:
    unknown = Uncertainty(spread=0.1, noise=1.0)
    runs = [
        simulate("panda", TaskSpaceIDAPBC, 0.02, uncertainty=unknown, seed=k) for k in (3, 3, 4)
    ]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert np.abs(runs[0].q[0] - runs[2].q[0]).max() > 1e-3


@pytest.mark.parametrize("name", ["panda", "satellite_panda", "omnidirectional_panda"])
def test_a_saved_run_is_read_by_audits_and_plots(name: str, tmp_path: Path) -> None:
    run = simulate(name, seconds=0.1, disturbances=[PUSH], rate=500)
    folder = run.save(tmp_path / "my_run")
    record = read_run(folder)
    np.testing.assert_allclose(record.power["time"], run.t, atol=1e-8)
    np.testing.assert_allclose(record.energy["total"], run.energy, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        record.power["wrench_end_effector"], run.power["wrench_end_effector"], atol=1e-12
    )
    assert abs(record.unaccounted_energy) < 1e-9
    recording = read_messages(folder)
    assert recording.port_energies is not None
    assert bool(recording.bases) == bool(run.model.b)
    assert "<robot" in recording.description
    with pytest.raises(VmsPhError, match=re.escape("bags are not overwritten")):
        run.save(folder)


def test_a_form_or_a_model_is_simulated_as_it_is(panda: VMSModel) -> None:
    runs = [simulate(robot, seconds=0.02, stride=5) for robot in (panda, StandardForm(panda))]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert len(runs[0]) == 5
    assert isinstance(runs[0], Trajectory)
    assert repr(runs[0]) == "Trajectory(panda, 0.02 s, energy balance closed)"


def test_a_saved_run_is_audited_by_its_path_alone(tmp_path: Path) -> None:
    run = simulate("panda", seconds=0.2)
    run.save(tmp_path / "run")
    done = audit(tmp_path / "run")
    assert done.model.joint_names == run.model.joint_names
    assert len(str(done).splitlines()) <= 10
    assert done.ledger.stored == pytest.approx(run.energy[-1] - run.energy[0], abs=1e-9)


def test_a_law_knows_the_actuators_of_its_robot() -> None:
    # Without effects the base of this robot is ideal, and has no rotors that a law could turn.
    with pytest.raises(ModelError, match="allocation"):
        simulate("borinot", UnderactuatedFlight, 0.01)
    run = simulate("borinot", UnderactuatedFlight, 0.01, effects="actuators")
    assert run.t[-1] == pytest.approx(0.01)


def test_the_poses_of_a_frame_are_those_of_the_model_at_every_record() -> None:
    run = simulate("panda", None, 0.01, stride=5, v=np.full(7, 0.3))
    for frame in (None, "panda_link4"):
        poses = run.placement(frame)
        assert poses.shape == (3, 4, 4)
        name = frame or run.model.end_effector
        last = run.model.evaluate(run.q[-1], run.v[-1]).placement(name)
        np.testing.assert_array_equal(poses[-1], last)
    with pytest.raises(ModelError, match="'elbow' is not a frame of 'panda'"):
        run.placement("elbow")


def test_in_a_current_all_energies_are_seen_from_the_water_and_the_balance_closes() -> None:
    run = simulate(
        "bluerov2_alpha5", "DecoupledVMSController", 0.3, effects=[WaterCurrent([0.3, 0.0, 0.1])],
        rate=100.0,
    )  # fmt: skip
    assert run.audit.is_closed
    given = np.trapezoid(run.power["wrench_base"], run.t)
    assert given == pytest.approx(run.port_energy["wrench_base"][-1], rel=1e-2)
    with pytest.raises(StateError, match=r"a current must have shape \(3,\); given: shape \(2,\)"):
        WaterCurrent([1.0, 2.0])


def test_what_the_law_says_of_its_energy_is_in_the_run() -> None:
    away = robots.load("panda").placement("panda_link8", robots.load("panda").home)[:3, 3] + 0.1
    run = simulate("panda", "CartesianImpedance", 0.05, reference=away)
    assert run.control["closed_loop_energy"].shape == run.t.shape
    assert run.control["reference_power"].max() > 0.0
    assert not run.control["status"].any()
    assert run.control["smallest_singular_value"].min() > 0.1
    straight = robots.load("panda").home * [1.0, 1.0, 1.0, 0.05, 1.0, 1.0, 1.0]
    stretched = simulate("panda", "CartesianImpedance", 0.05, q=straight)
    assert 0.0 < stretched.control["smallest_singular_value"].min() < 0.1
    assert not simulate("panda", None, 0.01).control


def test_with_its_velocity_a_path_is_followed_without_trailing() -> None:
    model = robots.load("panda")
    centre, w, radius = model.placement(model.end_effector, model.home)[:3, 3], 0.7, 0.08

    def path(t: float) -> Reference:
        angle = w * t
        position = centre + np.array([0.0, radius * np.sin(angle), radius * np.cos(angle) - 0.2])
        rate = w * radius * np.array([0.0, np.cos(angle), -np.sin(angle)])
        return Reference(position=position, velocity=rate if leads else None)

    largest = {}
    for leads in (False, True):
        run = simulate(model, "CartesianImpedance", 4.0, reference=path, rate=400.0)
        wanted = np.array([path(t).position for t in run.t])
        errors = np.linalg.norm(run.placement(model.end_effector)[:, :3, 3] - wanted, axis=1)
        largest[leads] = errors[run.t > 3.0].max()
        assert run.audit.is_closed
    assert largest[True] < 0.25 * largest[False]


def test_a_payload_is_carried_from_the_start() -> None:
    load = Payload(0.5, np.full(3, 1e-3), capture_time=0.0, in_model=False)
    run = simulate("panda", "CartesianImpedance", 0.01, effects=[load])
    assert run.port_energy["payload"][0] == 0.0
    assert run.port_energy["payload"][1] > 1.0
    assert run.audit.is_closed


def test_a_payload_that_is_out_of_reach_is_said() -> None:
    load = Payload(0.2, np.full(3, 1e-3), capture_time=0.005, place=[0.0, 0.0, 0.3], in_model=False)
    run = simulate("panda", "CartesianImpedance", 0.01, effects=[load])
    assert run.notes == (
        "the payload was not taken: it was 0.3 m from the end effector, its reach is 0.01 m",
    )
    taken = simulate(
        "panda", "CartesianImpedance", 0.01, effects=[replace(load, place=np.zeros(3))]
    )
    assert taken.notes == ()
