"""The Panda under a real controller manager: started, switched, chained, killed."""

import math
import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from control_session import Session, differences, pairs, stamp
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from vms_ph.msg import ControllerState, Energy, PortWork, Power

ENERGIES = ["total", "kinetic", "potential", "kinetic_task", "kinetic_null"]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    started = Session("panda_ros2_control.launch.xml")
    yield started
    started.end()


@pytest.fixture
def held(session: Session) -> Session:
    """The session with the Python controller in charge."""
    session.await_states(
        robot_broadcaster="active",
        task_space_ida_pbc="inactive",
        effort_controller="inactive",
        position_controller="inactive",
        task_reference="inactive",
    )
    others = [n for n, s in session.states().items() if s == "active" and "broad" not in n]
    if others != ["python_controller"]:
        assert session.switch(["python_controller"], others)
    return session


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
    assert {"clock/sec", "work/joint_torque", "panda_joint7/velocity"} <= states


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
    assert len(matched) > 50
    assert moving > 1e-3
    assert max(worst.values()) < 1e-6


def test_the_audit_of_the_simulated_hardware_closes(held: Session) -> None:
    found = held.collect(
        3.0, power=(Power, "/vms_ph/power"), own=(Power, "/python_controller/power")
    )
    assert found["power"][-1].exact_work
    assert abs(found["power"][-1].drift) < 1e-6
    worst = differences(found["power"], found["own"], ["dissipated"])
    assert worst["dissipated"] < 1e-6


@pytest.mark.parametrize("law", ["task_space_ida_pbc", "python_controller"])
def test_a_law_that_takes_over_holds_what_it_finds(held: Session, law: str) -> None:
    before = positions(held)
    if law != "python_controller":
        assert held.switch([law], ["python_controller"])
    time.sleep(2.0)
    after = positions(held)
    assert max(abs(after[name] - before[name]) for name in before) < 5e-2
    state = held.one(ControllerState, f"/{law}/state")
    assert state.status == ControllerState.OK, state.reason
    assert state.closed_loop_energy < 1e-2


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
    time.sleep(6.0)
    after = positions(held)
    assert max(abs(after[name] - before[name]) for name in before) > 2e-2
    state = held.one(ControllerState, "/python_controller/state")
    assert state.task_error < 2e-2
    assert held.switch([], ["task_reference"])


@pytest.mark.parametrize("name", ["task_space_ida_pbc", "python_controller"])
def test_a_controller_is_unloaded_and_loaded_again(held: Session, name: str) -> None:
    assert held.switch([], ["python_controller"])
    held.unload(name)
    assert name not in held.states()
    held.load(name)
    assert held.switch([name], [])
    time.sleep(1.0)
    state = held.one(ControllerState, f"/{name}/state")
    assert state.status == ControllerState.OK, state.reason


def test_after_a_kill_everything_comes_back_at_home_and_a_new_audit_begins(held: Session) -> None:
    before = held.one(PortWork, "/vms_ph/port_work")
    found = subprocess.run(
        ["pgrep", "-s", str(held.process.pid), "-f", "ros2_control_node"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for process in found.stdout.split():
        os.kill(int(process), signal.SIGKILL)
    held.process.send_signal(signal.SIGINT)
    held.process.wait(60.0)
    held.start()
    time.sleep(3.0)
    held.await_states(robot_broadcaster="active", python_controller="active")
    now = positions(held)
    assert now["panda_joint4"] == pytest.approx(-1.5, abs=1e-3)
    work = held.one(PortWork, "/vms_ph/port_work")
    assert work.resets > before.resets
    assert stamp(work) > stamp(before)
    power = held.collect(2.0, it=(Power, "/vms_ph/power"))["it"][-1]
    assert abs(power.drift) < 1e-6
