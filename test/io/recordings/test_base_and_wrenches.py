# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The base and the wrenches of a recording, from whatever topics have them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_motions import START, samples_of, simulated

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.simulation import Sample
from vms_ph_io import Push, load_urdf, robots, simulate
from vms_ph_io.audits import answers, audit
from vms_ph_io.bag import BagWriter, MessageTypes
from vms_ph_io.recordings import RecordingError, read_recording
from vms_ph_io.recordings.base_states import moving_root
from vms_ph_io.recordings.motion import MotionOptions, RecordedMotion
from vms_ph_io.recordings.recording import POSE, TWIST, Recording, Series

NAMES = {
    "odometry": "nav_msgs/msg/Odometry",
    "transform": "tf2_msgs/msg/TFMessage",
    "pose": "geometry_msgs/msg/PoseStamped",
    "pose and twist": "geometry_msgs/msg/PoseStamped",
}
ROOT = "borinot__base_link"


@pytest.fixture(scope="module")
def motion() -> tuple[VMSModel, list[Sample]]:
    """A drone with an arm that is pushed, in samples at 1 kHz."""
    model = robots.load("borinot")
    q = model.configuration(robots.get("borinot").home)
    push = np.array([0.6, -0.4, 0.5, 0.01, 0.0, 0.02])
    return model, list(simulated(model, q, 0.4, push=push, scale=1e-3))


class Recorder:
    """Writes messages of standard types."""

    def __init__(self) -> None:
        self.types = MessageTypes()
        self.kind = self.types.store.types

    def make(self, name: str, *values: Any) -> Any:
        return self.kind[name](*values)

    def header(self, time: int, frame: str = "odom") -> Any:
        stamp = self.make("builtin_interfaces/msg/Time", time // 10**9, time % 10**9)
        return self.make("std_msgs/msg/Header", stamp, frame)

    def vector(self, values: Any) -> Any:
        return self.make("geometry_msgs/msg/Vector3", *values)

    def twist(self, v: Any) -> Any:
        return self.make("geometry_msgs/msg/Twist", self.vector(v[:3]), self.vector(v[3:6]))

    def pose(self, q: Any) -> Any:
        place = self.make("geometry_msgs/msg/Point", *q[:3])
        return self.make(
            "geometry_msgs/msg/Pose", place, self.make("geometry_msgs/msg/Quaternion", *q[3:7])
        )

    def base(self, source: str, time: int, sample: Sample) -> dict[str, tuple[str, Any]]:
        head, q, v = self.header(time), sample.q, sample.v
        none = np.zeros(36)
        if source == "odometry":
            pose = self.make("geometry_msgs/msg/PoseWithCovariance", self.pose(q), none)
            twist = self.make("geometry_msgs/msg/TwistWithCovariance", self.twist(v), none)
            return {"/odom": (NAMES[source], self.make(NAMES[source], head, ROOT, pose, twist))}
        if source == "transform":
            turn = self.make("geometry_msgs/msg/Quaternion", *q[3:7])
            to = self.make("geometry_msgs/msg/Transform", self.vector(q[:3]), turn)
            stamped = self.make("geometry_msgs/msg/TransformStamped", head, ROOT, to)
            return {"/tf": (NAMES[source], self.make(NAMES[source], [stamped]))}
        found = {"/pose": (NAMES["pose"], self.make(NAMES["pose"], head, self.pose(q)))}
        if source == "pose and twist":
            name = "geometry_msgs/msg/TwistStamped"
            found["/twist"] = (name, self.make(name, head, self.twist(v)))
        return found

    def write(
        self, model: VMSModel, samples: list[Sample], folder: Path, source: str, every: int = 1
    ) -> Path:
        state, wrench = "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped"
        topics: set[str] = set()
        with BagWriter(folder, ros_distro="") as bag:
            for k, sample in enumerate(samples):
                time = START + round(sample.time * 1e9)
                joints = (model.joint_positions(sample.q), sample.v[6:], sample.torque)
                force = self.make(
                    "geometry_msgs/msg/Wrench",
                    self.vector(sample.wrench_end_effector[:3]),
                    self.vector(sample.wrench_end_effector[3:]),
                )
                messages = {
                    "/arm/states": (
                        state,
                        self.make(state, self.header(time), list(model.joint_names), *joints),
                    ),
                    "/ft_sensor": (
                        wrench, self.make(wrench, self.header(time, model.end_effector), force)
                    ),
                }  # fmt: skip
                if source and k % every == 0:
                    messages |= self.base(source, time, sample)
                for topic, (name, message) in messages.items():
                    if topic not in topics:
                        bag.add_topic(topic, self.types.definition(name))
                        topics.add(topic)
                    data = bytes(self.types.store.serialize_cdr(message, name))
                    bag.write(topic, data, time)
        return folder


@pytest.mark.parametrize("source", NAMES)
def test_the_motion_of_the_base_is_taken_from(
    motion: tuple[VMSModel, list[Sample]], tmp_path: Path, source: str
) -> None:
    model, samples = motion
    bag = Recorder().write(model, samples, tmp_path / "bag", source)
    read = samples_of(RecordedMotion(read_recording(bag), model))
    np.testing.assert_allclose(read.q, [s.q for s in samples], atol=1e-12)
    velocity = np.array([s.v for s in samples])
    # Without a twist it is estimated from the poses, least well at the ends.
    exact = source in ("odometry", "pose and twist")
    inner = slice(None) if exact else slice(30, -30)
    np.testing.assert_allclose(read.v[inner], velocity[inner], atol=1e-12 if exact else 2e-4)
    assert np.abs(velocity[-1, :6]).max() > 1e-2


def test_a_base_at_a_lower_rate_is_interpolated_and_that_is_said(
    motion: tuple[VMSModel, list[Sample]], tmp_path: Path
) -> None:
    model, samples = motion
    bag = Recorder().write(model, samples, tmp_path / "bag", "odometry", every=10)
    read = RecordedMotion(read_recording(bag), model)
    assert read.conditioning.rates == {"/odom": pytest.approx(100.0)}
    expected = np.array([s.q for s in samples])
    np.testing.assert_allclose(samples_of(read).q[:400], expected[:400], atol=1e-4)


def test_a_pose_that_is_no_number_does_not_hide_that_a_root_moves(tmp_path: Path) -> None:
    recording, panda = Recording(tmp_path, "rosbag2"), robots.load("panda")
    series = Series.make("/odom", (*POSE, *TWIST), child="panda_link0")
    recording.bases.append(series)
    no_twist = np.full(6, np.nan)
    for k, x in enumerate((0.0, 0.0, np.nan)):
        series.table.append(k, [0.0, x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *no_twist])
    assert moving_root(recording, panda) == ""
    series.table.append(3, [0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *no_twist])
    assert moving_root(recording, panda) == "panda_link0"


def test_a_moving_base_without_a_recorded_pose_is_refused(
    motion: tuple[VMSModel, list[Sample]], tmp_path: Path
) -> None:
    model, samples = motion
    bag = Recorder().write(model, samples[:20], tmp_path / "bag", "")
    with pytest.raises(RecordingError, match="needs its pose: odometry, a transform or a pose"):
        RecordedMotion(read_recording(bag), model)


def test_a_wrench_acts_at_the_frame_of_its_messages(
    motion: tuple[VMSModel, list[Sample]], tmp_path: Path
) -> None:
    model, samples = motion
    bag = Recorder().write(model, samples, tmp_path / "bag", "odometry")
    done = audit(bag, model)
    known = samples[-1].port_energy["wrench_end_effector"]
    assert done.ledger.ports == (model.end_effector,)
    assert done.ledger.supplied_by_port[0] == pytest.approx(
        known, abs=done.ledger.sampling_bound + 1e-9
    )
    assert done.port_name(model.end_effector) == "wrench_end_effector"
    # What holds the base was not recorded: its energy appears from nowhere.
    missing = samples[-1].port_energy["wrench_base"]
    assert done.ledger.unaccounted == pytest.approx(missing, abs=done.ledger.sampling_bound)
    assert abs(missing) > 100 * done.ledger.sampling_bound
    # Shares are of what joints and ports exchanged: the joints of a drone may exchange nothing.
    assert done.ledger.exchanged >= abs(known) > done.ledger.gross
    other = audit(bag, model, MotionOptions(wrenches={"base": "/ft_sensor"}))
    assert other.ledger.ports == ("base",)


def test_the_end_effector_of_a_bag_is_where_its_wrench_acts(tmp_path: Path) -> None:
    push = Push("wrench_end_effector", [0, 20, 0, 0, 0, 0])
    simulate("panda", lambda q, v, dt: -2.0 * v, 0.1, disturbances=[push]).save(tmp_path / "run")
    done = audit(tmp_path / "run")
    assert done.model.end_effector == robots.load("panda").end_effector
    assert done.model.end_effector != load_urdf(robots.get("panda").path()).end_effector
    assert [done.port_name(port) for port in done.ledger.ports] == ["wrench_end_effector"]


def test_a_topic_can_be_chosen_for_each_role(
    motion: tuple[VMSModel, list[Sample]], tmp_path: Path
) -> None:
    model, samples = motion
    bag = Recorder().write(model, samples[:50], tmp_path / "bag", "odometry")
    read = read_recording(bag, topics={"joints": "/arm/states", "base": "/odom"})
    assert [series.name for series in read.bases] == ["/odom"]
    assert len(read.wrenches) == 1
    with pytest.raises(RecordingError, match="has no topic /other"):
        read_recording(bag, topics={"base": "/other"})
    with pytest.raises(RecordingError, match="there is no wrench '/other'"):
        RecordedMotion(read, model, MotionOptions(wrenches={"base": "/other"}))


DRONE = """<robot name="drone"><link name="base_link"><inertial><mass value="1.5"/><inertia
ixx="0.02" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize("share", [-1.0, 0.5])
def test_a_drone_without_joints_is_audited_and_refused_with_z_down(
    tmp_path: Path, share: float
) -> None:
    model, recorder = VMSModel.from_urdf(DRONE, base="floating"), Recorder()
    wrench = "geometry_msgs/msg/WrenchStamped"
    vector, none = recorder.vector, np.zeros(36)
    with BagWriter(tmp_path / "bag", ros_distro="") as bag:
        for name, kind in (("/odom", NAMES["odometry"]), ("/wrench_base", wrench)):
            bag.add_topic(name, recorder.types.definition(kind))
        for k in range(100):
            time = START + k * 10_000_000
            pose = recorder.pose([0.0, 0.0, 1e-2 * k, 0.0, 0.0, 0.0, 1.0])
            pose = recorder.make("geometry_msgs/msg/PoseWithCovariance", pose, none)
            twist = recorder.twist([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
            twist = recorder.make("geometry_msgs/msg/TwistWithCovariance", twist, none)
            force = vector([0.0, 0.0, share * 1.5 * 9.81]), vector(np.zeros(3))
            force = recorder.make("geometry_msgs/msg/Wrench", *force)
            head = recorder.header(time)
            for topic, kind, parts in (
                ("/odom", NAMES["odometry"], (head, "base_link", pose, twist)),
                ("/wrench_base", wrench, (recorder.header(time, "base_link"), force)),
            ):
                message = recorder.make(kind, *parts)
                bag.write(topic, bytes(recorder.types.store.serialize_cdr(message, kind)), time)
    if share < 0.0:
        with pytest.raises(RecordingError, match="Either z is down"):
            audit(tmp_path / "bag", model)
        return
    sentences = answers(audit(tmp_path / "bag", model))
    assert "50 % of the energy through the ports) is unaccounted for" in sentences[0]
    assert "it is missing at the base" in sentences[0]
