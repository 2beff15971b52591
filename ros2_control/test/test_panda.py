# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The Panda under a real controller manager: started, switched, chained, killed."""

import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from control_msgs.msg import DynamicJointState
from control_session import Session, differences, pairs, stamp
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Log
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from vms_ph.msg import ControllerState, Energy, PortEnergy, Power

from vms_ph_io import robots

ENERGIES = ["total", "kinetic", "potential", "kinetic_task", "kinetic_null"]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    started = Session("panda_ros2_control.launch.xml")
    try:
        await_all(started)
        yield started
    finally:
        started.end()


def await_all(session: Session) -> None:
    """Wait until everything in the launch file is as it asks for."""
    session.await_states(
        robot_broadcaster="active",
        python_controller="active",
        task_space_ida_pbc="inactive",
        pose_ida_pbc="inactive",
        effort_controller="inactive",
        position_controller="inactive",
        task_reference="inactive",
    )


@pytest.fixture
def held(session: Session) -> Session:
    """The session with the Python controller in charge, whatever was before."""
    others = [n for n, s in session.states().items() if s == "active" and "broad" not in n]
    if others != ["python_controller"]:
        assert session.switch(["python_controller"], others)
    return session


def is_answering(states: list[ControllerState]) -> bool:
    """Whether a law does its work; answers may be late, as many as the machine is busy."""
    held = {state.reason for state in states if state.status == ControllerState.HOLDING}
    well = sum(state.status == ControllerState.OK for state in states)
    print(f"{well} of {len(states)} well, {held}")
    return well > 0 and not any("raised" in reason for reason in held)


def positions(session: Session) -> dict[str, float]:
    message = session.one(JointState, "/joint_states")
    return dict(zip(message.name, message.position, strict=True))


def test_the_controller_of_the_launch_file_holds_the_home_posture(held: Session) -> None:
    time.sleep(2.0)
    now = positions(held)
    assert len(now) == 7
    assert now["panda_joint4"] == pytest.approx(-1.5, abs=1e-3)
    state = held.one(ControllerState, "/python_controller/state")
    assert state.task_error < 1e-3


def test_its_efforts_are_claimed_and_its_references_are_offered(held: Session) -> None:
    commands, states = held.interfaces()
    assert all(commands[f"panda_joint{i}/effort"] for i in range(1, 8))
    assert not commands["panda_joint1/position"]
    assert {"python_controller/position.x", "python_controller/panda_joint1/position"} <= set(
        commands
    )
    assert {"clock/sec", "port_energy/torque", "panda_joint7/velocity"} <= states


def test_a_pose_that_was_recorded_is_a_reference_later(held: Session) -> None:
    recorded = held.one(PoseStamped, "/python_controller/pose")
    panda, p = robots.load("panda"), recorded.pose
    q = panda.configuration(positions(held))
    placement = panda.placement(panda.end_effector, q)
    np.testing.assert_allclose(
        [p.position.x, p.position.y, p.position.z], placement[:3, 3], atol=1e-3
    )
    x, y, z, w = p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w
    third_axis = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    np.testing.assert_allclose(third_axis, placement[:3, 2], atol=1e-3)
    away = PoseStamped()
    away.pose.position.x, away.pose.position.y = p.position.x - 0.06, p.position.y
    away.pose.position.z, away.pose.orientation = p.position.z, p.orientation

    def is_at(target: PoseStamped) -> Callable[[PoseStamped], bool]:
        return lambda message: abs(message.pose.position.x - target.pose.position.x) < 0.005

    for target in (away, recorded):
        held.tell(PoseStamped, "/python_controller/reference_pose", target)
        held.until_topic(PoseStamped, "/python_controller/pose", is_at(target))


def test_energies_agree_with_the_energy_monitor_on_equal_stamps(held: Session) -> None:
    # In motion, so that there is something to compare.
    target = PoseStamped()
    target.pose.position.x, target.pose.position.y, target.pose.position.z = 0.45, 0.1, 0.6
    held.tell(PoseStamped, "/python_controller/reference_pose", target)
    found = held.collect(
        4.0, ours=(Energy, "/python_controller/energy"), theirs=(Energy, "/vms_ph/energy")
    )
    matched = pairs(found["ours"], found["theirs"])
    worst = differences(found["ours"], found["theirs"], ENERGIES)
    moving = max(message.kinetic for message in found["ours"])
    print(f"{len(matched)} equal stamps, kinetic energy up to {moving:.3g} J, off by {worst}")
    assert len(matched) > 20
    assert moving > 1e-3
    assert max(worst.values()) < 1e-6


def test_who_only_looks_sees_the_weight_that_a_law_carries_and_its_energies(held: Session) -> None:
    assert held.switch(["dynamics_broadcaster"], [])
    seen = held.collect(
        2.0,
        ours=(Energy, "/dynamics_broadcaster/energy"),
        law=(Energy, "/python_controller/energy"),
        dynamics=(DynamicJointState, "/dynamics_broadcaster/joint_dynamics"),
        states=(JointState, "/joint_states"),
    )
    assert len(pairs(seen["ours"], seen["law"])) > 20
    assert max(differences(seen["ours"], seen["law"], ENERGIES).values()) < 1e-9
    dynamics, state = pairs(seen["dynamics"], seen["states"])[-1]
    model = robots.load("panda")
    position = dict(zip(state.name, state.position, strict=True))
    d = model.evaluate([position[name] for name in model.joint_names], np.zeros(7))
    terms = dict(zip(dynamics.joint_names, dynamics.interface_values, strict=True))
    for i, name in enumerate(model.joint_names):
        assert terms[name].values == pytest.approx([d.g[i], d.M[i, i]], abs=1e-9)
    assert held.switch([], ["dynamics_broadcaster"])


def test_the_audit_of_the_simulated_hardware_closes(held: Session) -> None:
    found = held.collect(
        3.0, power=(Power, "/vms_ph/power"), own=(Power, "/python_controller/power")
    )
    assert found["power"][-1].exact_energies
    assert abs(found["power"][-1].unaccounted_energy) < 1e-6
    worst = differences(found["power"], found["own"], ["dissipated"])
    assert worst["dissipated"] < 1e-6


@pytest.mark.parametrize("law", ["task_space_ida_pbc", "pose_ida_pbc", "python_controller"])
def test_a_law_that_takes_over_holds_what_it_finds(held: Session, law: str) -> None:
    other = "task_space_ida_pbc" if law == "python_controller" else "python_controller"
    if law == "python_controller":
        assert held.switch([other], [law])
    found = held.collect_during(
        2.0,
        lambda: held.switch([law], [other]),
        joints=(JointState, "/joint_states"),
        states=(ControllerState, f"/{law}/state"),
    )
    first, last = found["joints"][0].position, found["joints"][-1].position
    assert max(abs(a - b) for a, b in zip(first, last, strict=True)) < 5e-2
    assert found["states"][0].task_error < 1e-3
    assert found["states"][-1].closed_loop_energy < 1e-2
    assert is_answering(found["states"])


def test_a_law_that_takes_over_a_falling_arm_holds_the_pose_it_finds(held: Session) -> None:
    # Without efforts the arm falls for a moment; what counts is where it is when the law begins.
    assert held.switch(["effort_controller"], ["python_controller"])
    held.tell(Float64MultiArray, "/effort_controller/commands", Float64MultiArray(data=[0.0] * 7))
    held.until_topic(
        JointState, "/joint_states", lambda message: max(map(abs, message.velocity)) > 0.3
    )
    topic = {"state": (ControllerState, "/python_controller/state")}
    begun = held.collect_during(
        4.0, lambda: held.switch(["python_controller"], ["effort_controller"]), **topic
    )["state"]
    # At the first stamp the reference is where the end effector is.
    assert begun[0].task_error < 1e-2
    assert begun[0].shaped_potential < 1e-2
    # It swings through with what it had, and comes back.
    assert begun[-1].task_error < 2e-2
    assert is_answering(begun)


def test_the_brakes_hold_the_robot_when_no_controller_is_active(held: Session) -> None:
    assert held.switch([], ["python_controller"])
    time.sleep(1.0)
    before = positions(held)
    time.sleep(1.0)
    after = positions(held)
    assert max(abs(after[name] - before[name]) for name in before) < 1e-4


def test_positions_are_taken_as_commands_too(held: Session) -> None:
    wanted = [0.2, -0.3, 0.0, -1.5, 0.0, 1.5, 0.1]
    assert held.switch(["position_controller"], ["python_controller"])
    held.tell(Float64MultiArray, "/position_controller/commands", Float64MultiArray(data=wanted))
    time.sleep(2.0)
    now = positions(held)
    for i, position in enumerate(wanted):
        assert now[f"panda_joint{i + 1}"] == pytest.approx(position, abs=2e-3)


def test_a_chained_controller_moves_the_reference_and_nan_does_not(held: Session) -> None:
    # The chain starts together: what stands in the interfaces before is NaN.
    assert held.switch([], ["python_controller"])
    assert held.switch(["task_reference", "python_controller"], [])
    time.sleep(1.0)
    state = held.one(ControllerState, "/python_controller/state")
    assert state.task_error < 1e-2
    before = positions(held)
    nowhere = Float64MultiArray(data=[math.nan] * 3)
    held.tell(Float64MultiArray, "/task_reference/commands", nowhere)
    time.sleep(1.0)
    after = positions(held)
    assert max(abs(after[name] - before[name]) for name in before) < 1e-2
    point = Float64MultiArray(data=[0.45, 0.1, 0.6])
    held.tell(Float64MultiArray, "/task_reference/commands", point)

    def has_moved() -> bool:
        after = positions(held)
        return max(abs(after[name] - before[name]) for name in before) > 2e-2

    held.until(has_moved, "the motion to the point")
    # Where Python is late, as on a busy machine, the arm waits: it takes longer.
    held.until_topic(
        ControllerState, "/python_controller/state", lambda state: state.task_error < 2e-2
    )
    assert held.switch([], ["task_reference"])


@pytest.mark.parametrize("name", ["task_space_ida_pbc", "pose_ida_pbc", "python_controller"])
def test_a_controller_is_unloaded_and_loaded_again(held: Session, name: str) -> None:
    assert held.switch([], ["python_controller"])
    held.unload(name)
    assert name not in held.states()
    held.load(name)
    assert held.switch([name], [])
    assert is_answering(held.collect(1.0, it=(ControllerState, f"/{name}/state"))["it"])


def begin_own_law(session: Session, folder: Path, law: str) -> None:
    """Let a law from the folder of this file begin, in place of the usual one."""
    parameters = {
        "controller": f"faulty_law.{law}",
        "folders": [str(Path(__file__).parent)],
        "end_effector": "panda_link8",
        "stamp": "clock",
    }
    file = folder / "own.yaml"
    file.write_text(json.dumps({law: {"ros__parameters": parameters}}))
    session.know(law, "vms_ph/PythonController", file)
    session.load(law)
    assert session.switch([law], ["python_controller"])


def test_a_law_that_raises_is_stood_in_for_and_its_traceback_is_told(
    held: Session, tmp_path: Path
) -> None:
    told: list[str] = []
    log = held.node.create_subscription(
        Log, "/rosout", lambda m: told.append(m.msg) if m.name == "FaultyLaw" else None, 100
    )
    begin_own_law(held, tmp_path, "FaultyLaw")
    held.until(lambda: any("IndexError" in text for text in told), "the traceback in the log")
    assert any("faulty_law.py" in text for text in told)
    held.node.destroy_subscription(log)
    # Not the first message at once: on a busy machine an answer may be late instead of wrong.
    held.until_topic(
        ControllerState,
        "/FaultyLaw/state",
        lambda m: m.status == ControllerState.HOLDING and "see the log" in m.reason,
    )
    assert held.switch(["python_controller"], ["FaultyLaw"])
    held.unload("FaultyLaw")


@pytest.mark.parametrize(("law", "height"), [("FaultyLaw", 0.45), ("SleepyLaw", 0.6)])
def test_an_arm_in_motion_comes_to_rest_when_python_fails_or_hangs(
    held: Session, tmp_path: Path, law: str, height: float
) -> None:
    target = PoseStamped()
    target.pose.position.x, target.pose.position.y, target.pose.position.z = 0.45, 0.1, height
    held.tell(PoseStamped, "/python_controller/reference_pose", target)
    held.until_topic(
        JointState, "/joint_states", lambda message: max(map(abs, message.velocity)) > 0.05
    )
    begin_own_law(held, tmp_path, law)
    found = held.collect(
        3.0, joints=(JointState, "/joint_states"), states=(ControllerState, f"/{law}/state")
    )
    waiting = [s for s in found["states"] if s.status == ControllerState.HOLDING]
    assert len(waiting) > 0.5 * len(found["states"])
    assert max(map(abs, found["joints"][-1].velocity)) < 1e-4
    assert held.switch(["python_controller"], [law])
    held.unload(law)


def test_an_arm_without_torque_falls_onto_its_stops_and_the_balance_closes(held: Session) -> None:
    before = held.one(Power, "/vms_ph/power")
    assert held.switch(["effort_controller"], ["python_controller"])
    held.tell(Float64MultiArray, "/effort_controller/commands", Float64MultiArray(data=[0.0] * 7))
    held.until_topic(Energy, "/vms_ph/energy", lambda message: message.kinetic > 1.0)
    found = held.collect(6.0, joints=(JointState, "/joint_states"), power=(Power, "/vms_ph/power"))
    limits = robots.load("panda").joints
    # Joints pass their limits by less than 1e-4 rad in a step.
    for message in found["joints"]:
        at = dict(zip(message.name, message.position, strict=True))
        for name, lower, upper in zip(limits.names, limits.lower, limits.upper, strict=True):
            assert lower - 1e-3 < at[name] < upper + 1e-3
    # Without friction the rest of the arm still swings; the shoulder lies on its stop.
    last = found["joints"][-1]
    shoulder = last.name.index("panda_joint2")
    assert last.position[shoulder] == pytest.approx(limits.upper[1], abs=2e-4)
    assert last.velocity[shoulder] == pytest.approx(0.0, abs=1e-3)
    assert list(last.effort) == [0.0] * 7
    after = found["power"][-1]
    lost = before.stored - after.stored
    print(f"{lost:.4g} J into stops and friction, {after.unaccounted_energy:.2g} J unaccounted")
    assert lost > 1.0
    assert abs(after.unaccounted_energy) < 1e-4


def test_after_a_kill_everything_comes_back_at_home_and_a_new_audit_begins(held: Session) -> None:
    before = held.one(PortEnergy, "/vms_ph/port_energy")
    managers = held.processes("ros2_control_node")
    assert managers
    for process in managers:
        os.kill(process, signal.SIGKILL)
    held.end()
    held.start()
    await_all(held)
    now = positions(held)
    assert now["panda_joint4"] == pytest.approx(-1.5, abs=1e-3)
    work = held.one(PortEnergy, "/vms_ph/port_energy")
    assert work.resets > before.resets
    assert stamp(work) > stamp(before)
    power = held.collect(2.0, it=(Power, "/vms_ph/power"))["it"][-1]
    assert abs(power.unaccounted_energy) < 1e-6
