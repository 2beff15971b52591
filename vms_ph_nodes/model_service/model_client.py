# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Python client of the model server, with arrays instead of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import Point, Pose, Quaternion, Twist, Vector3
from rclpy.node import Node
from sensor_msgs.msg import JointState
from vms_ph.msg import Energy, Momentum, RobotState
from vms_ph.srv import (
    CheckStructure,
    GetDynamicsBatch,
    GetEnergies,
    GetJacobian,
    GetModelInfo,
)

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_dynamics.forms.checks import StructureCheck


def robot_state(
    positions: Mapping[str, float],
    rates: Mapping[str, float] | None = None,
    base_pose: Sequence[float] | None = None,
    base_twist: Sequence[float] | None = None,
) -> RobotState:
    """Return a state as a message.

    Args:
        positions: joint positions by name, rad or m; zero for other joints.
        rates: joint rates by name, rad/s or m/s; zero for other joints.
        base_pose: (7,) x y z qx qy qz qw of the base in the inertial frame; the origin if None.
        base_twist: (6,) twist of the base in its own axes, linear first; at rest if None.
    """
    rates = rates or {}
    names = list(dict.fromkeys([*positions, *rates]))
    state = RobotState()
    state.joint_state = JointState(
        name=names,
        position=[float(positions.get(name, 0.0)) for name in names],
        velocity=[float(rates.get(name, 0.0)) for name in names],
    )
    if base_pose is not None:
        x, y, z, qx, qy, qz, qw = (float(value) for value in base_pose)
        turn = Quaternion(x=qx, y=qy, z=qz, w=qw)
        state.base_pose = Pose(position=Point(x=x, y=y, z=z), orientation=turn)
    if base_twist is not None:
        vx, vy, vz, wx, wy, wz = (float(value) for value in base_twist)
        linear, angular = Vector3(x=vx, y=vy, z=vz), Vector3(x=wx, y=wy, z=wz)
        state.base_twist = Twist(linear=linear, angular=angular)
    return state


@dataclass(frozen=True)
class Dynamics:
    """The terms of the equations of motion at N states; see srv/GetDynamicsBatch.srv.

    Attributes:
        joint_names: order of the joint entries, which follow those of the base.
        M, C: (N,nv,nv); g, momentum: (N,nv); J_end_effector: (N,6,nv).
        kinetic_energy, potential_energy: (N,) J.
    """

    joint_names: tuple[str, ...]
    M: Array
    C: Array
    g: Array
    momentum: Array
    J_end_effector: Array
    kinetic_energy: Array
    potential_energy: Array


@dataclass(frozen=True)
class Jacobians:
    """Jacobians of F frames and their rates (F,6,nv), and poses (F,7) as x y z qx qy qz qw."""

    frames: tuple[str, ...]
    J: Array
    J_rate: Array
    poses: Array


class ModelClient:
    """Calls the services of a model server; every method waits for the answer."""

    def __init__(self, node: Node, server: str = "model_server", patience: float = 5.0) -> None:
        """Create the clients on ``node``, which must not be spun elsewhere during a call.

        Args:
            node: node of the clients; its callbacks run during a call.
            server: name of the server's node.
            patience: timeout of discovery and of each response, s.
        """
        self._node, self._server, self._patience = node, server, patience
        self._clients: dict[str, Any] = {}

    def info(self) -> GetModelInfo.Response:
        """Return the properties of the model.

        Raises:
            VmsPhError: no node responds, or the server has no robot description yet.
        """
        return self._ask(GetModelInfo, "get_model_info", GetModelInfo.Request())

    def dynamics(self, *states: RobotState) -> Dynamics:
        """Return the terms of the equations of motion at states.

        Raises:
            VmsPhError: no node responds, or the server rejects a state.
        """
        request = GetDynamicsBatch.Request(states=list(states))
        a = self._ask(GetDynamicsBatch, "get_dynamics_batch", request)
        count, nv = len(states), a.nv
        return Dynamics(
            tuple(a.joint_names),
            _shaped(a.mass_matrix, count, nv, nv),
            _shaped(a.coriolis_matrix, count, nv, nv),
            _shaped(a.gravity, count, nv),
            _shaped(a.momentum, count, nv),
            _shaped(a.jacobian, count, 6, nv),
            _shaped(a.kinetic_energy, count),
            _shaped(a.potential_energy, count),
        )

    def energies(self, *states: RobotState) -> list[tuple[Energy, Momentum]]:
        """Return energy and momentum of every state; raises as :meth:`dynamics`."""
        a = self._ask(GetEnergies, "get_energies", GetEnergies.Request(states=list(states)))
        return list(zip(a.energies, a.momenta, strict=True))

    def jacobians(
        self, state: RobotState, frames: Sequence[str] = (), aligned: bool = False
    ) -> Jacobians:
        """Return Jacobians and poses of frames, by default of the end effector.

        Args:
            state: state to evaluate at.
            frames: names of links or joints.
            aligned: express twists in the axes of the inertial frame, not in those of the frame.

        Raises:
            VmsPhError: no node responds, or the server rejects the request.
        """
        kind = GetJacobian.Request
        axes = kind.ALIGNED if aligned else kind.LOCAL
        request = kind(state=state, frames=list(frames), axes=axes)
        a = self._ask(GetJacobian, "get_jacobian", request)
        count = len(a.frames)
        return Jacobians(
            tuple(a.frames),
            _shaped(a.jacobian, count, 6, a.nv),
            _shaped(a.jacobian_rate, count, 6, a.nv),
            np.array([_numbers(pose) for pose in a.poses]),
        )

    def check_structure(self, state: RobotState) -> list[StructureCheck]:
        """Return all structure checks at a state; raises as :meth:`dynamics`."""
        request = CheckStructure.Request(state=state)
        a = self._ask(CheckStructure, "check_structure", request)
        return [
            StructureCheck(name, value, limit)
            for name, value, limit in zip(a.checks, a.values, a.limits, strict=True)
        ]

    def _ask(self, kind: Any, name: str, request: Any) -> Any:
        full = f"{self._server}/{name}"
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, full)
        client = self._clients[name]
        if not client.wait_for_service(timeout_sec=self._patience):
            raise VmsPhError(
                f"no node offers the service {full} (waited {self._patience:g} s); start "
                "model_server, or give the name of its node as server="
            )
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self._node, future, timeout_sec=self._patience)
        if not future.done():
            raise VmsPhError(f"{full} did not answer within {self._patience:g} s")
        answer = future.result()
        if not answer.success:
            raise VmsPhError(f"{full} refused: {answer.message}")
        return answer


def _shaped(values: Any, *shape: int) -> Array:
    return np.array(values, dtype=np.float64).reshape(shape)


def _numbers(pose: Pose) -> list[float]:
    p, r = pose.position, pose.orientation
    return [p.x, p.y, p.z, r.x, r.y, r.z, r.w]
