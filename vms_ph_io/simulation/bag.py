# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bag of a simulated closed loop, with the topics that the nodes record."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, Ports, PositionTask, VMSModel
from vms_ph_dynamics.energy.audit import EnergyAudit, Flow, PortEnergies
from vms_ph_dynamics.energy.task_exchange import energy_parts
from vms_ph_dynamics.evaluation import in_space
from vms_ph_dynamics.forms import PORTS
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_dynamics.simulation import Sample

from ..bag import BagWriter, MessageTypes

# Stamps begin at one second: a stamp of zero means that there is none.
_START = 1_000_000_000

_TYPES = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/vms_ph/wrench_end_effector": "geometry_msgs/msg/WrenchStamped",
    "/vms_ph/wrench_base": "geometry_msgs/msg/WrenchStamped",
    "/vms_ph/port_energy": "vms_ph/msg/PortEnergy",
    "/vms_ph/energy": "vms_ph/msg/Energy",
    "/vms_ph/power": "vms_ph/msg/Power",
    "/odom": "nav_msgs/msg/Odometry",
    "/robot_description": "std_msgs/msg/String",
}


def write_bag(
    folder: Path, model: VMSModel, samples: Iterable[Sample], description: str = ""
) -> None:
    """Write a bag of a simulation.

    Args:
        folder: of the bag.
        model: the robot.
        samples: in the order of time.
        description: URDF of the robot; empty for none.

    Raises:
        BagError: the folder exists, or cannot be created.
    """
    types = MessageTypes.of_project()
    moving = {"/vms_ph/wrench_base", "/odom"}
    topics = {t: k for t, k in _TYPES.items() if model.b or t not in moving}
    with BagWriter(folder, ros_distro="") as bag:
        for topic, name in topics.items():
            bag.add_topic(topic, types.definition(name))
        for time, topic, message in _Messages(model, types.store.types).all(samples, description):
            content = types.store.serialize_cdr(message, _TYPES[topic])
            bag.write(topic, bytes(content), time)


class _Messages:
    """The messages of a simulation."""

    def __init__(self, model: VMSModel, types: Any) -> None:
        self._model, self._types = model, types
        self._audit, self._task = EnergyAudit(), PositionTask(self._model)
        self._root = LinkTree(self._model.tree).root
        self._inertial = "odom" if self._model.b else self._root

    def all(self, samples: Iterable[Sample], description: str) -> Iterator[tuple[int, str, Any]]:
        """Yield time (ns), topic and message of all samples in order."""
        if description:
            text = self._types["std_msgs/msg/String"](description)
            yield _START, "/robot_description", text
        for sample in samples:
            time = _START + round(sample.time * 1e9)
            for topic, message in self._messages(time, sample).items():
                yield time, topic, message

    def _messages(self, time: int, sample: Sample) -> dict[str, Any]:
        model, types = self._model, self._types
        stamp = types["builtin_interfaces/msg/Time"](time // 10**9, time % 10**9)
        head = types["std_msgs/msg/Header"](stamp, "")
        inertial = types["std_msgs/msg/Header"](stamp, self._inertial)
        d = model.evaluate(sample.q, sample.v)
        parts = energy_parts(d, self._task)
        energies = {p: e for p, e in sample.port_energy.items() if p not in PORTS}
        exact = PortEnergies(sample.port_energy, sample.dissipated)
        power = Ports(
            sample.torque,
            sample.wrench_base if model.b else None,
            sample.wrench_end_effector,
            wrench_tools=dict(sample.wrench_tools),
        ).supplied(d)
        powers = {p: power.get(p, float("nan")) for p in sample.port_energy}
        audit = self._audit
        audit.add(Flow(time, parts["total"], powers, float("nan"), exact))
        messages = {
            "/joint_states": types["sensor_msgs/msg/JointState"](
                head,
                list(model.joint_names),
                model.joint_positions(sample.q),
                sample.v[model.b :],
                sample.torque,
            ),
            "/vms_ph/wrench_end_effector": self._wrench(
                stamp, model.end_effector, sample.wrench_end_effector
            ),
            "/vms_ph/port_energy": types["vms_ph/msg/PortEnergy"](
                head,
                *(sample.port_energy[p] for p in PORTS),
                list(energies),
                np.array(list(energies.values())),
                sample.dissipated,
                0,
            ),
            "/vms_ph/energy": types["vms_ph/msg/Energy"](inertial, **parts),
            "/vms_ph/power": types["vms_ph/msg/Power"](
                inertial,
                *(power[p] for p in PORTS),
                list(energies),
                np.array([powers[p] for p in energies]),
                float("nan"),
                float("nan"),
                float("nan"),
                *(audit.port_energy[p] for p in PORTS),
                np.array([audit.port_energy[p] for p in energies]),
                audit.dissipated,
                audit.stored,
                audit.unaccounted_energy,
                audit.residual,
                True,
            ),
        }
        if model.b:
            base_wrench = np.concatenate(in_space(model.b, sample.wrench_base))
            messages["/vms_ph/wrench_base"] = self._wrench(stamp, self._root, base_wrench)
            messages["/odom"] = self._odometry(inertial, sample)
        return messages

    def _wrench(self, stamp: Any, frame: str, wrench: Array) -> Any:
        types, vector = self._types, self._types["geometry_msgs/msg/Vector3"]
        content = types["geometry_msgs/msg/Wrench"](vector(*wrench[:3]), vector(*wrench[3:]))
        head = types["std_msgs/msg/Header"](stamp, frame)
        return types["geometry_msgs/msg/WrenchStamped"](head, content)

    def _odometry(self, head: Any, sample: Sample) -> Any:
        types, vector = self._types, self._types["geometry_msgs/msg/Vector3"]
        position: Array = np.zeros(3)
        turn: Array = np.zeros(4)
        if self._model.base == "planar":
            x, y, c, s = sample.q[:4]
            half = 0.5 * np.arctan2(s, c)
            position[:2], turn[2:] = (x, y), (np.sin(half), np.cos(half))
        else:
            position, turn = sample.q[:3], sample.q[3:7]
        pose = types["geometry_msgs/msg/Pose"](
            types["geometry_msgs/msg/Point"](*position),
            types["geometry_msgs/msg/Quaternion"](*turn),
        )
        linear, angular = in_space(self._model.b, sample.v[: self._model.b])
        motion = types["geometry_msgs/msg/Twist"](vector(*linear), vector(*angular))
        return types["nav_msgs/msg/Odometry"](
            head,
            self._root,
            types["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36)),
            types["geometry_msgs/msg/TwistWithCovariance"](motion, np.zeros(36)),
        )
