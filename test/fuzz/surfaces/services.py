# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Requests of the model server and values of parameters, through their real handlers."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from fuzz.surface import Surface
from geometry_msgs.msg import Point, Twist, Vector3
from rcl_interfaces.msg import Parameter as ParameterMsg
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy._node_parameters import NodeParameters
from rclpy.parameter import Parameter
from rclpy.parameter_service import ParameterService
from sensor_msgs.msg import JointState
from vms_ph.msg import RobotState
from vms_ph.srv import (
    CheckStructure,
    GetDynamics,
    GetDynamicsBatch,
    GetEnergies,
    GetJacobian,
    GetModelInfo,
)

from vms_ph_controllers import TaskSpaceIDAPBC
from vms_ph_embedded.interfaces.messages import DecodingError, deserialize, serialize
from vms_ph_io import robots, share_directory
from vms_ph_nodes.model_server import ModelAnswers, ModelServer
from vms_ph_nodes.node.parameters import declare, declare_gains, parameters_of

_ROBOTS = ("panda", "omnidirectional_panda", "satellite_panda")
_KINDS = (
    (GetModelInfo, ModelAnswers.fill_info),
    (GetDynamics, ModelAnswers.fill_dynamics),
    (GetDynamicsBatch, ModelAnswers.fill_batch),
    (GetEnergies, ModelAnswers.fill_energies),
    (GetJacobian, ModelAnswers.fill_jacobian),
    (CheckStructure, ModelAnswers.fill_checks),
)


class RefusedError(Exception):
    """A response without success, with its message."""


@cache
def _handlers() -> tuple[tuple[Any, Callable[[Any, Any], Any]], ...]:
    """Return service and callback, those of one robot after another."""
    found = []
    for name in _ROBOTS:
        server = SimpleNamespace(
            _answers=ModelAnswers(robots.load(name)), _health=SimpleNamespace(disagreement="")
        )
        found += [
            (kind, ModelServer._service_callback(server, answer))  # type: ignore[arg-type]
            for kind, answer in _KINDS
        ]
    return tuple(found)


def _ask(data: bytes) -> None:
    handlers = _handlers()
    kind, handler = handlers[int.from_bytes(data[:4], "little") % len(handlers)]
    response = handler(deserialize(data[4:], kind.Request), kind.Response())
    serialize(response)
    if not response.success:
        raise RefusedError(response.message)
    assert _is_finite(response), f"a success that is not finite: {response}"[:300]


def _is_finite(message: Any) -> bool:
    for field in message.__fields__:
        value = getattr(message, field.name)
        for item in value if isinstance(value, list) else [value]:
            if hasattr(item, "__fields__"):
                if not _is_finite(item):
                    return False
            elif not isinstance(item, (str, bytes)) and not np.isfinite(np.asarray(item)).all():
                return False
    return True


def _robot_state(joints: dict[str, float], speeds: dict[str, float], moves: bool) -> RobotState:
    state = RobotState()
    state.joint_state = JointState(
        name=list(joints), position=list(joints.values()), velocity=list(speeds.values())
    )
    if moves:
        state.base_pose.position = Point(x=0.1, y=0.2)
        state.base_twist = Twist(linear=Vector3(x=0.1, y=0.2), angular=Vector3(z=0.3))
    return state


def _request_seeds() -> list[bytes]:
    rng = np.random.default_rng(15)
    found = []
    for i, name in enumerate(_ROBOTS):
        model = robots.load(name)
        q, rates = model.random_configuration(rng), rng.normal(size=model.nv)
        joints = dict(zip(model.joint_names, model.joint_positions(q).tolist(), strict=True))
        speeds = dict(zip(model.joint_names, rates[model.b :].tolist(), strict=True))
        state = _robot_state(joints, speeds, moves=bool(model.b))
        for k, (kind, _) in enumerate(_KINDS):
            request = kind.Request()
            if hasattr(request, "states"):
                request.states = [state, state]
            elif hasattr(request, "state"):
                request.state = state
            elif hasattr(request, "joint_state"):
                request.joint_state, request.base_pose = state.joint_state, state.base_pose
                request.base_twist = state.base_twist
            found.append((i * len(_KINDS) + k).to_bytes(4, "little") + serialize(request))
    return found


class _Holder(NodeParameters):
    """The parameters of a node without its DDS participant."""

    def __init__(self, name: str) -> None:
        super().__init__({}, allow_undeclared=False)
        self.PARAMETER_FILE, self.services = name, {}

    def get_name(self) -> str:
        return self.PARAMETER_FILE

    def create_service(self, kind: Any, name: str, callback: Any, **_: Any) -> None:
        self.services[kind] = callback

    def _ros_publish_parameter_event(self, event: Any) -> None:
        serialize(event)


def _holder(name: str) -> _Holder:
    holder = _Holder(name)
    for parameter in parameters_of(name):
        declare(holder, parameter)  # type: ignore[arg-type]
    if name == "controller":
        law = TaskSpaceIDAPBC(robots.load("panda"))
        declare_gains(holder, lambda: law)  # type: ignore[arg-type]
    holder.service = ParameterService(holder)  # type: ignore[attr-defined]
    return holder


@cache
def _holders() -> tuple[_Holder, ...]:
    files = sorted((share_directory() / "config/parameters").glob("*.yaml"))
    return tuple(_holder(path.stem) for path in files)


def _set(data: bytes) -> None:
    holders = _holders()
    number = int.from_bytes(data[:4], "little")
    holder = holders[(number >> 1) % len(holders)]
    kind = (SetParameters, SetParametersAtomically)[number & 1]
    request = deserialize(data[4:], kind.Request)
    response = holder.services[kind](request, kind.Response())
    serialize(response)
    results = response.results if number & 1 == 0 else [response.result]
    for name, parameter in holder._parameters.items():
        values = parameter.value if isinstance(parameter.value, list) else [parameter.value]
        numbers = [value for value in values if isinstance(value, float)]
        assert np.isfinite(numbers).all(), f"{holder.PARAMETER_FILE} {name}: {numbers}"
    for result in results:
        if not result.successful:
            raise RefusedError(result.reason)


def _parameter_seeds() -> list[bytes]:
    rng = random.Random(15)
    found = []
    for i, holder in enumerate(_holders()):
        messages: list[ParameterMsg] = [
            Parameter(name, value=parameter.value).to_parameter_msg()
            for name, parameter in holder._parameters.items()
            if not holder.describe_parameter(name).read_only and parameter.value != []
        ]
        for some in ([], messages[:1], rng.sample(messages, min(3, len(messages)))):
            for bit, kind in enumerate((SetParameters, SetParametersAtomically)):
                if bit and not some:  # rclpy refuses to set nothing at once where it converts types
                    continue
                request = kind.Request(parameters=some)
                found.append((2 * i + bit).to_bytes(4, "little") + serialize(request))
    return found


_REFUSALS = (DecodingError, RefusedError)
SERVICES = Surface(
    "services", _ask, _request_seeds, refusals=_REFUSALS, seconds=10.0, short=200, long=30_000
)
VALUES_SET = Surface(
    "parameters", _set, _parameter_seeds, refusals=_REFUSALS, seconds=5.0, short=300, long=60_000
)
