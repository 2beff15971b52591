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
        for time, topic, message in _Messages(model, types.store).all(samples, description):
            content = types.store.serialize_cdr(message, _TYPES[topic])
            bag.write(topic, bytes(content), time)


class _Messages:
    """The messages of a simulation."""

    def __init__(self, model: VMSModel, store: Any) -> None:
        self._model, self._store = model, store
        self._audit, self._task = EnergyAudit(), PositionTask(self._model)
        self._root = LinkTree(self._model.tree).root
        self._inertial = "odom" if self._model.b else self._root

    def all(self, samples: Iterable[Sample], description: str) -> Iterator[tuple[int, str, Any]]:
        """Yield time (ns), topic and message of all samples in order."""
        if description:
            yield _START, "/robot_description", self._message("std_msgs/msg/String", (description,))
        for sample in samples:
            time = _START + round(sample.time * 1e9)
            for topic, content in self._contents(time, sample).items():
                yield time, topic, self._message(_TYPES[topic], content)

    def _message(self, kind: str, content: Any) -> Any:
        """Return the message of a type with the fields of a tuple, in their order, or by name."""
        if not isinstance(content, (tuple, dict)):
            return content
        fields = self._store.fielddefs[kind][1]
        if isinstance(content, dict):
            content = tuple(content[name] for name, _ in fields)
        parts = zip(fields, content, strict=True)
        return self._store.types[kind](*(self._message(name, x) for (_, (_, name)), x in parts))

    def _contents(self, time: int, sample: Sample) -> dict[str, Any]:
        model, stamp = self._model, divmod(time, 10**9)
        head, inertial = (stamp, ""), (stamp, self._inertial)
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
        not_known = (float("nan"),) * 3
        at_tool = (stamp, model.end_effector), _halves(sample.wrench_end_effector)
        contents = {
            "/joint_states": (
                head,
                list(model.joint_names),
                model.joint_positions(sample.q),
                sample.v[model.b :],
                sample.torque,
            ),
            "/vms_ph/wrench_end_effector": at_tool,
            "/vms_ph/port_energy": (
                head,
                *(sample.port_energy[p] for p in PORTS),
                list(energies),
                np.array(list(energies.values())),
                sample.dissipated,
                0,
            ),
            "/vms_ph/energy": {"header": inertial, **parts},
            "/vms_ph/power": (
                inertial,
                *(power[p] for p in PORTS),
                list(energies),
                np.array([powers[p] for p in energies]),
                *not_known,
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
            wrench = np.concatenate(in_space(model.b, sample.wrench_base))
            contents["/vms_ph/wrench_base"] = (stamp, self._root), _halves(wrench)
            contents["/odom"] = self._odometry(inertial, sample)
        return contents

    def _odometry(self, head: Any, sample: Sample) -> tuple[Any, ...]:
        position: Array = np.zeros(3)
        turn: Array = np.zeros(4)
        if self._model.base == "planar":
            x, y, c, s = sample.q[:4]
            half = 0.5 * np.arctan2(s, c)
            position[:2], turn[2:] = (x, y), (np.sin(half), np.cos(half))
        else:
            position, turn = sample.q[:3], sample.q[3:7]
        linear, angular = in_space(self._model.b, sample.v[: self._model.b])
        pose, twist = (tuple(position), tuple(turn)), (tuple(linear), tuple(angular))
        return head, self._root, (pose, np.zeros(36)), (twist, np.zeros(36))


def _halves(wrench: Array) -> tuple[Any, ...]:
    return tuple(wrench[:3]), tuple(wrench[3:])
