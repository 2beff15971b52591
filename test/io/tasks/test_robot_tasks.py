# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on their own actuators reach the goals of their tasks, with every joule accounted for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import DecoupledVMSController
from vms_ph_controllers.hosting.loop_control import Sensor
from vms_ph_dynamics import OptionError, VMSModel, VmsPhError
from vms_ph_io.tasks import robot_tasks
from vms_ph_io.tasks.task_reference import TaskReference
from vms_ph_io.tasks.task_run import TaskRun, run_task
from vms_ph_io.tasks.uncertainty import Uncertainty

# Steps of the short forms, s: the tests below show goals and balances, not the finest motion.
SHORT = {
    "satellite_reach": 0.05, "flight_one_axis": 0.02, "mobile_drive": 0.02, "wheels_drive": 0.025,
    "flight_quadrotor": 0.02, "mobile_door": 0.02, "satellite_catch": 0.05, "arm_pick": 0.01,
    "satellite": 0.04, "arm": 0.02, "underwater_valve": 0.02, "underwater_station": 0.03,
    "satellite_station": 0.04,
}  # fmt: skip
# One of every family. Tests of nodes run short forms of a station in water, of what is caught and
# of a door; one below drives on wheels.
QUICK = (
    "mobile_drive", "flight_one_axis", "satellite_reach", "flight_quadrotor", "satellite_station",
    "arm_pick", "arm", "satellite",
)  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in robot_tasks.names()
    ],
)
def test_a_task_ends_with_its_goals(name: str) -> None:
    task = robot_tasks.load(name)
    assert_met(run_task(replace(task, step=SHORT.get(name, task.step))))


def test_a_robot_on_two_wheels_drives_to_a_place_and_reaches() -> None:
    task = robot_tasks.load("wheels_drive")
    near = replace(
        task.targets[0], base=np.array([0.1, 0.03, 0.0]), joints={"arm_1_joint": 0.1}, duration=1.0
    )
    goals = {name: replace(goal, settling_time=4.0) for name, goal in task.goals.items()}
    short = replace(task, step=0.04, targets=(near,), goals=goals, min_duration=4.2)
    assert_met(run_task(short))


def test_a_law_of_ones_own_is_tried_also_where_the_base_has_no_actuators() -> None:
    class Law(DecoupledVMSController):
        """One that is told apart by its class."""

    def make(name: str, model: VMSModel, allocation: Any, base_actuated: bool, form: Any) -> Law:
        assert not base_actuated
        return Law(model, base_actuated=base_actuated)

    assert type(TaskRun(robot_tasks.load("satellite"), make_law=make).law) is Law


@pytest.mark.slow
@pytest.mark.parametrize("name", robot_tasks.names())
def test_a_task_holds_its_goals_for_a_minute_faster_than_real_time(name: str) -> None:
    found = run_task(name, seconds=60.0)
    assert_met(found)
    assert found["real_time_factor"] > 1.0


def assert_met(found: dict[str, Any]) -> None:
    assert not found["failure"]
    for name, goal in found["goals"].items():
        assert goal["met"], (name, goal)
    assert {"unaccounted", "torques"} <= set(found["goals"])


def test_a_current_carries_a_vehicle_that_does_nothing_about_it() -> None:
    task = robot_tasks.load("underwater_station")
    idle = replace(
        task, gains={"frequency_base": 0.0, "damping_ratio": 0.0}, targets=(), joint_friction=False
    )
    run = TaskRun(replace(idle, actuators="ideal"))
    start, _ = run.state()
    # At first it is at rest above the ground, whatever the water does: as much as the velocity of
    # the water cancels from momenta.
    cancelled = np.linalg.norm(task.current) * np.linalg.cond(run.model.evaluate(*run.state()).M)
    np.testing.assert_allclose(run.state()[1], 0.0, atol=cancelled * np.finfo(float).eps)
    run.simulate(4.0)
    (q, v), ground = run.state(), run.model.base_pose(start)[:3, 3]
    along = task.current / np.linalg.norm(task.current)
    moved = run.model.base_pose(q)[:3, 3] - ground
    assert 0.1 < moved @ along < 4.0 * np.linalg.norm(task.current)
    speed = (run.model.base_pose(q)[:3, :3] @ v[:3]) @ along
    assert 0.3 * np.linalg.norm(task.current) < speed < np.linalg.norm(task.current)


def test_a_flying_base_that_follows_its_end_effector_stays_upright_where_it_is_told_to() -> None:
    # Its rotors hold it in hover up to a tilt of some 22 degrees; let go, it is at 16 by then.
    task = robot_tasks.load("flight_inspect")
    aside = replace(task.targets[0], time=0.1, end_effector=np.array([0.3, 0.3, 0.2]))
    run = TaskRun(replace(task, step=0.02, targets=(aside,)))
    run.simulate(2.6)
    assert np.arccos(run.model.base_pose(run.state()[0])[2, 2]) < np.radians(6.0)


@pytest.mark.parametrize(
    ("change", "missed", "seconds"),
    [
        # An unknown kilogram pulls the spring of the law by 1 cm.
        ({"in_model": False}, {"payload", "support"}, 6.1),
        ({"place": np.array([0.0, 0.13, -0.2])}, {"payload", "taken"}, 1.6),
    ],
)
def test_a_payload_that_is_out_of_reach_or_unknown_is_not_where_it_is_wanted(
    change: dict[str, Any], missed: set[str], seconds: float
) -> None:
    task = robot_tasks.load("arm_pick")
    payload = replace(task.payload, **change)
    found = run_task(replace(task, step=0.01, payload=payload), seconds=seconds)
    goals = found["goals"]
    assert {name for name, goal in goals.items() if not goal["met"]} - {"place"} == missed
    # Whether it is taken or not, and set down softly or not, nothing is unaccounted.
    assert goals["unaccounted"]["met"]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("arm_pick", {"spin": np.ones(3)}, "moves before it is taken is for tasks without gravity"),
        ("underwater_valve", {}, "a payload is for robots in air or space; .* is in water"),
        ("wheels_drive", {}, "for robots without 'wheels' that do not slip"),
    ],
)
def test_a_payload_that_a_robot_cannot_take_is_refused(
    name: str, change: dict[str, Any], said: str
) -> None:
    payload = replace(robot_tasks.load("arm_pick").payload, **change)
    with pytest.raises(OptionError, match=said):
        TaskRun(replace(robot_tasks.load(name), payload=payload))


def test_errors_that_a_law_does_not_know_change_the_robot_and_what_is_measured() -> None:
    run = TaskRun(replace(robot_tasks.load("mobile_drive"), targets=()))
    model, home = run.model, run.state()[0]
    unknown = Uncertainty(mass=0.2, inertia=0.2, spread=0.05, noise=1.0, delay=0.01, seed=4)
    plant = unknown.plant(model)
    ratios = [
        after.mass / before.mass
        for before, after in zip(
            list(model.pinocchio.inertias)[1:], list(plant.pinocchio.inertias)[1:], strict=True
        )
        if before.mass
    ]
    assert np.ptp(ratios) > 0.1
    assert np.abs(np.array(ratios) - 1.0).max() <= 0.2
    away = model.difference(home, unknown.start_configuration(model, home))
    assert 0.02 < np.abs(away).max() <= 0.05
    sensor = Sensor(model, 0.005, unknown.noise, unknown.delay, unknown.seed)
    v = np.zeros(model.nv)
    seen = [sensor.measure(home, v + k).v.mean() for k in range(5)]
    np.testing.assert_allclose(seen, [0, 0, 0, 1, 2], atol=0.02)
    assert len(set(seen)) > 2
    # Without errors everything is as it is.
    certain = Uncertainty()
    assert certain.plant(model) is model
    assert certain.start_configuration(model, home) is home
    assert Sensor(model, 0.005, 0.0, 0.0, 0).measure(home, v).q is home
    with pytest.raises(OptionError, match="mass=1: a number of at least zero and below 1"):
        Uncertainty(mass=1.0)


def test_a_target_beyond_the_limits_of_a_joint_is_refused() -> None:
    task = robot_tasks.load("underwater_station")
    beyond = replace(task.targets[0], joints={"alpha_axis_e": -0.8})
    with pytest.raises(OptionError, match=r"'alpha_axis_e' to -0.7, outside its limits from 0 to"):
        TaskRun(replace(task, targets=(beyond,)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"robot": "package://no_such_data/x.urdf"}, "there is no package 'no_such_data'; source"),
        ({"robot": "package://example-robot-data/no.urdf"}, "'no.urdf' is not in it; source"),
        ({"wheels": {"wheel_joint": 0.1}}, "'wheel_joint' is no joint of"),
        ({"wheels": {"arm_1_joint": 0.1}}, "must turn a wheel about an axis that is parallel"),
        ({"base": "floating"}, "load it with base='planar'"),
        ({"controller": "DecoupledVMSController"}, "does not support the wheels"),
        ({"wheels": {}}, "'DifferentialDrive' is for robots on wheels that do not slip"),
        ({"gains": {"frequency_base": 1.0}}, "has no gains frequency_base"),
    ],
)
def test_what_is_wrong_with_a_task_on_wheels_is_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(VmsPhError, match=said):
        TaskRun(replace(robot_tasks.load("wheels_drive"), **change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"actuators": "package://vms_ph/no.yaml"}, "or the path of a file; given: 'package://vms"),
        ({"locked_joints": {"griper": 0.0}}, "griper"),
        ({"initial_positions": {"wrist": 0.0}}, "'wrist' is no joint of 'iris_so101'"),
        ({"end_effector": "hand"}, "hand"),
        ({"base": "fixed", "wind": None}, "base"),
    ],
)
def test_what_is_wrong_with_a_task_of_a_description_is_said(
    change: dict[str, Any], said: str
) -> None:
    with pytest.raises(VmsPhError, match=said):
        TaskRun(replace(robot_tasks.load("flight_quadrotor"), **change))


@pytest.mark.parametrize(
    ("name", "takes_base_and_tool", "given"),
    [
        ("underwater_valve", False, False),
        ("mobile_door", True, True),
        ("mobile_drive", False, True),
    ],
)
def test_a_law_that_leads_the_end_effector_alone_gets_no_pose_of_the_base(
    name: str, takes_base_and_tool: bool, given: bool
) -> None:
    run = TaskRun(robot_tasks.load(name))
    assert takes_base_and_tool == run.law.LEADS_BASE_AND_TOOL
    found = TaskReference(robot_tasks.load(name), run.model, run.state()[0], takes_base_and_tool)
    assert (found.reference_between(-1.0, 0.0).pose is not None) == given


def test_the_demos_give_way_to_a_push_and_turn_by_an_arm() -> None:
    arms = "fr3", "gen3", "iiwa14", "openarm"
    others = "so101", "teleoperation", "ur10e", "xarm7"
    assert robot_tasks.demos() == ("arm", "drone", *arms, "satellite", *others)
    pushed, quiet = (
        TaskRun(replace(robot_tasks.load("arm"), step=SHORT["arm"], **change))
        for change in ({}, {"push": None})
    )
    for run in (pushed, quiet):
        run.simulate(4.25)
    hands = [
        run.model.evaluate(*run.state()).placement(run.model.end_effector)[:3, 3]
        for run in (pushed, quiet)
    ]
    assert 0.1 < np.linalg.norm(hands[0] - hands[1]) < 0.5
    assert pushed.simulation.sample().port_energy["wrench_end_effector"] > 5.0  # J
    # The joints of the satellite are where they were; its attitude is not, and nothing moves.
    run = TaskRun(replace(robot_tasks.load("satellite"), step=SHORT["satellite"]))
    start = run.model.base_pose(run.state()[0])[:3, :3]
    run.simulate(21.5)
    q, v = run.state()
    assert np.abs(run.model.joint_positions(q) - run._reference._home_joint_positions).max() < 0.01
    turned = np.arccos((np.trace(start.T @ run.model.base_pose(q)[:3, :3]) - 1.0) / 2.0)
    assert np.degrees(turned) > 10.0
    assert np.abs(v).max() < 0.01
