# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Motions with known efforts, and recordings of them in every kind of file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Ros2Writer
from rosbags.typesys import Stores, get_typestore

from vms_ph_dynamics import Array, Friction, Ports, StandardForm, VMSModel
from vms_ph_dynamics.energy.audit import EnergyAudit, EnergySample, PortEnergies
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.forms import PORTS
from vms_ph_dynamics.simulation import Actuation, FormEngine, Sample, Simulation
from vms_ph_io.bag import BagWriter, MessageTypes
from vms_ph_io.installation import share_directory
from vms_ph_io.recordings.motion import RecordedMotion

START = 1_700_000_000_000_000_000


@dataclass(frozen=True)
class Known:
    """A motion of a robot on a fixed base: times, positions, velocities, efforts."""

    joints: tuple[str, ...]
    t: Array
    q: Array
    v: Array
    effort: Array

    def changed(self, **arrays: Any) -> "Known":
        return replace(self, **arrays)

    def write_csv(self, path: Path) -> Path:
        names = [f"{what}.{j}" for what in ("position", "velocity", "effort") for j in self.joints]
        rows = np.column_stack([self.t, self.q, self.v, self.effort])
        header = ",".join(["time", *names])
        np.savetxt(path, rows, fmt="%.17g", delimiter=",", header=header, comments="")
        return path


def samples_of(motion: RecordedMotion) -> MotionSamples:
    """All samples of a recording as one motion; gaps are steps in its times."""
    blocks = list(motion.blocks())

    def rows(quantity: Callable[[MotionSamples], Array]) -> Array:
        return np.concatenate([quantity(b.samples)[int(b.continues) :] for b in blocks])

    ports = {port: rows(lambda s, port=port: s.wrenches[port]) for port in motion.ports}
    return replace(
        blocks[0].samples,
        t=rows(lambda s: s.t),
        q=rows(lambda s: s.q),
        v=rows(lambda s: s.v),
        torque=rows(lambda s: s.torque),
        wrenches=ports,
    )


def excited(model: VMSModel, seconds: float = 3.0, rate: float = 1000.0) -> Known:
    """A motion by sines and the efforts that it needs, without friction."""
    t = np.arange(round(seconds * rate) + 1) / rate
    phase = np.arange(model.n)
    speed = 1.5 + 0.4 * phase
    angle = speed * t[:, None] + phase
    home = 0.5 * (model.joints.lower + model.joints.upper)
    home = np.where(np.isfinite(home), home, 0.0)
    q = home + 0.3 * np.sin(angle)
    v, a = 0.3 * speed * np.cos(angle), -0.3 * speed**2 * np.sin(angle)
    tree = model.tree.pinocchio
    data = tree.createData()
    effort = np.array([pin.rnea(tree, data, *row) for row in zip(q, v, a, strict=True)])
    return Known(model.joint_names, t, q, v, effort)


@dataclass(frozen=True)
class Torques:
    torque: Array
    wrench_base: Array


def simulated(
    model: VMSModel,
    q: Array,
    seconds: float,
    friction: bool = False,
    push: Array | None = None,
    scale: float = 1.0,
) -> Iterator[Sample]:
    """A simulation at 1 kHz, with torques (of this scale) that hold the robot up and move it."""
    rng = np.random.default_rng(3)
    turn = rng.uniform(1.0, 5.0, model.n)
    size = scale * rng.uniform(0.05, 0.3, model.n)
    clock = [0.0]

    def control(q: Array, v: Array, dt: float) -> Actuation:
        d = model.evaluate(q, np.zeros(model.nv))
        clock[0] += dt
        extra = size * np.sin(turn * clock[0])
        return Torques(d.g[model.b :] + extra - 0.5 * scale * v[model.b :], d.g[: model.b].copy())

    run = Simulation(
        StandardForm(model), q, 1e-3, control, friction, engine=FormEngine(native=False)
    )
    yield run.sample()
    for _ in range(round(seconds * 1000)):
        run.advance(1, Ports(wrench_end_effector=push))
        yield run.sample()


def write_bag(
    model: VMSModel, samples: Iterator[Sample], folder: Path, friction: Friction | None = None
) -> float:
    """Record a simulation as the nodes do; return the unaccounted energy that is published."""
    types = MessageTypes()
    types.register_folder("vms_ph", share_directory() / "msg")
    kind, audit = types.store.types, EnergyAudit()
    make, stamp = kind["std_msgs/msg/Header"], kind["builtin_interfaces/msg/Time"]
    vector = kind["geometry_msgs/msg/Vector3"]
    names = {
        "/joint_states": "sensor_msgs/msg/JointState",
        "/vms_ph/wrench_end_effector": "geometry_msgs/msg/WrenchStamped",
        "/vms_ph/wrench_base": "geometry_msgs/msg/WrenchStamped",
        "/vms_ph/port_energy": "vms_ph/msg/PortEnergy",
        "/vms_ph/power": "vms_ph/msg/Power",
        "/odom": "nav_msgs/msg/Odometry",
    }

    def wrench(frame: str, value: Array, head: Any) -> Any:
        full = np.zeros(6)
        full[: len(value)] = value
        body = kind["geometry_msgs/msg/Wrench"](vector(*full[:3]), vector(*full[3:]))
        return kind[names["/vms_ph/wrench_base"]](make(head.stamp, frame), body)

    with BagWriter(folder, ros_distro="") as bag:
        for topic, name in names.items():
            bag.add_topic(topic, types.definition(name))
        for sample in samples:
            time = START + round(sample.time * 1e9)
            head = make(stamp(time // 10**9, time % 10**9), "")
            joints = (model.joint_positions(sample.q), sample.v[model.b :], sample.torque)
            exact = PortEnergies(sample.port_energy, sample.dissipated)
            d = model.evaluate(sample.q, sample.v)
            ports = Ports(
                sample.torque, sample.wrench_base if model.b else None,
                sample.wrench_end_effector, friction=friction,
            )  # fmt: skip
            power, lost = ports.supplied(d), ports.dissipated(d)
            energy = d.kinetic_energy + d.potential_energy
            audit.add(EnergySample(time, energy, power, lost, exact))
            messages = {
                "/vms_ph/port_energy": kind["vms_ph/msg/PortEnergy"](
                    head, *(sample.port_energy[p] for p in PORTS), [], np.zeros(0),
                    sample.dissipated, 0,
                ),
                "/vms_ph/wrench_end_effector": wrench(
                    model.end_effector, sample.wrench_end_effector, head
                ),
                "/joint_states": kind[names["/joint_states"]](
                    head, list(model.joint_names), *joints
                ),
                "/vms_ph/power": kind["vms_ph/msg/Power"](
                    head, *(power[p] for p in PORTS), [], np.zeros(0), lost, np.nan, np.nan,
                    *(audit.port_energy[p] for p in PORTS), np.zeros(0), audit.dissipated,
                    audit.stored, audit.unaccounted_energy, audit.unaccounted_power, True,
                ),
            }  # fmt: skip
            if model.b:
                messages["/vms_ph/wrench_base"] = wrench("base", sample.wrench_base, head)
                messages["/odom"] = _odometry(kind, head, sample)
            for topic, message in messages.items():
                bag.write(topic, bytes(types.store.serialize_cdr(message, names[topic])), time)
    return audit.unaccounted_energy


def _odometry(kind: Any, head: Any, sample: Sample) -> Any:
    x, y, z, qx, qy, qz, qw = sample.q[:7]
    v = sample.v[:6]
    vector, none = kind["geometry_msgs/msg/Vector3"], np.zeros(36)
    pose = kind["geometry_msgs/msg/Pose"](
        kind["geometry_msgs/msg/Point"](x, y, z),
        kind["geometry_msgs/msg/Quaternion"](qx, qy, qz, qw),
    )
    twist = kind["geometry_msgs/msg/Twist"](vector(*v[:3]), vector(*v[3:]))
    return kind["nav_msgs/msg/Odometry"](
        head,
        "base_link",
        kind["geometry_msgs/msg/PoseWithCovariance"](pose, none),
        kind["geometry_msgs/msg/TwistWithCovariance"](twist, none),
    )


def joint_states(store: Any, known: Known, ros1: bool) -> Iterator[tuple[int, Any]]:
    kind = store.types
    for k, t in enumerate(known.t):
        time = START + round(t * 1e9)
        stamp = kind["builtin_interfaces/msg/Time"](time // 10**9, time % 10**9)
        own = {"seq": k} if ros1 else {}
        head = kind["std_msgs/msg/Header"](stamp=stamp, frame_id="", **own)
        yield (
            time,
            kind["sensor_msgs/msg/JointState"](
                header=head, name=list(known.joints), position=known.q[k], velocity=known.v[k],
                effort=known.effort[k],
            ),
        )  # fmt: skip


def write_ros1(known: Known, path: Path) -> Path:
    store = get_typestore(Stores.ROS1_NOETIC)
    name = "sensor_msgs/msg/JointState"
    with Ros1Writer(path) as writer:
        connection = writer.add_connection("/joint_states", name, typestore=store)
        for time, message in joint_states(store, known, True):
            writer.write(connection, time, store.serialize_ros1(message, name))
    return path


def write_ros2(known: Known, folder: Path, storage: StoragePlugin, mode: CompressionMode) -> Path:
    """Write a bag with the library ``rosbags``: other storages and compressions."""
    store = get_typestore(Stores.ROS2_JAZZY)
    name = "sensor_msgs/msg/JointState"
    writer = Ros2Writer(folder, version=9, storage_plugin=storage)
    if mode is not CompressionMode.NONE:
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/joint_states", name, typestore=store)
        for time, message in joint_states(store, known, False):
            writer.write(connection, time, store.serialize_cdr(message, name))
    return folder
