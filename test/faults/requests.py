# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Faults that come by service and parameter."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from geometry_msgs.msg import Pose, Twist, Vector3
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from vms_ph.msg import RobotState
from vms_ph.srv import GetDynamics, GetDynamicsBatch, GetEnergies, GetJacobian, StepSimulation

from vms_ph_embedded.wire import service_header

from .world import Fault, World

_MODEL = "/model_server/"
_UNDER_WAY = 10


def _joint(position: float, name: str = "panda_joint1") -> JointState:
    return JointState(name=[name], position=[position])


def _refused(kind: type, service: str, request: Any, why: str) -> Callable[[World], None]:
    """A request that must be answered with success=False and a reason."""

    def act(world: World) -> None:
        response = world.call(kind, service, request)
        assert not response.success
        assert why in response.message, response.message

    return act


def set_parameter(world: World, node: str, name: str, value: ParameterValue) -> Any:
    """Set a parameter and return the result."""
    request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
    return world.call(SetParameters, f"{node}/set_parameters", request).results[0]


def _double(value: float) -> ParameterValue:
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)


def _parameter(
    name: str, value: ParameterValue, why: str, node: str = "/controller"
) -> Callable[[World], None]:
    """A parameter that must be refused with a reason."""

    def act(world: World) -> None:
        result = set_parameter(world, node, name, value)
        assert not result.successful
        assert why in result.reason, result.reason

    return act


def _undecodable(world: World) -> None:
    client = world.node.create_client(Trigger, "/simulator/reset")
    assert client.wait_for_service(20.0)
    body = serialize_message(Trigger.Request()) + b"surplus!"
    client._writer.write(service_header.add(body, client._guid, 1))
    world.node.destroy_client(client)


def _a_million_steps(end: Callable[[World], Any]) -> Callable[[World], None]:
    def act(world: World) -> None:
        assert world.call(SetBool, "/simulator/pause", SetBool.Request(data=True)).success
        steps = StepSimulation.Request(steps=1_000_000)
        running = world.ask(StepSimulation, "/simulator/step", steps)
        world.spin(0.2)
        assert not running.done()
        begun = time.monotonic()
        end(world)
        world.until(running.done, "the steps did not end")
        assert time.monotonic() - begun < 5.0
        assert not running.result().success
        assert "ended at" in running.result().message
        assert world.call(SetBool, "/simulator/pause", SetBool.Request(data=False)).success

    return act


def pause(world: World, stand: bool = True) -> Any:
    """Stop simulated time, or resume it."""
    return world.call(SetBool, "/simulator/pause", SetBool.Request(data=stand))


def reset(world: World) -> Any:
    """Return the robot to its start."""
    return world.call(Trigger, "/simulator/reset", Trigger.Request())


def calls(world: World, count: int) -> float:
    """Call services of three nodes, ten requests of each under way; return calls per second.

    A service keeps ten requests, as in ROS 2; of more at once some would be lost.
    """
    change = SetParameters.Request(parameters=[Parameter(name="damping_null", value=_double(2.0))])
    asks = (
        (GetDynamics, _MODEL + "get_dynamics", GetDynamics.Request()),
        (SetBool, "/simulator/pause", SetBool.Request(data=True)),
        (SetParameters, "/controller/set_parameters", change),
    )
    begun, made = time.monotonic(), 0
    while made < count:
        futures = [world.ask(*ask) for ask in asks for _ in range(_UNDER_WAY)]
        made += len(futures)
        for future in futures:
            world.until(future.done, "a call was not answered")
    seconds = time.monotonic() - begun
    assert pause(world, False).success
    return made / seconds


def changes(world: World, count: int) -> None:
    """Change a gain, every tenth time beyond its bounds."""
    for _ in range(0, count, _UNDER_WAY):
        values = [1e9 if k == 9 else 1.0 + k for k in range(_UNDER_WAY)]
        futures = [
            world.ask(
                SetParameters,
                "/controller/set_parameters",
                SetParameters.Request(
                    parameters=[Parameter(name="damping_null", value=_double(value))]
                ),
            )
            for value in values
        ]
        for future, value in zip(futures, values, strict=True):
            world.until(future.done, "a change was not answered")
            assert future.result().results[0].successful == (value < 1e9)


def _table() -> Iterator[Fault]:
    far = RobotState(joint_state=_joint(1e155))
    for value in ("nan", "inf", "1e155"):
        yield Fault(
            f"dynamics at a position of {value}",
            _refused(
                GetDynamics,
                _MODEL + "get_dynamics",
                GetDynamics.Request(joint_state=_joint(float(value))),
                "must be finite and at most",
            ),
        )
    yield Fault(
        "energies at 1e155 rad",
        _refused(
            GetEnergies, _MODEL + "get_energies", GetEnergies.Request(states=[far]), "at most 1e+09"
        ),
    )
    yield Fault(
        "Jacobians at 1e155 rad",
        _refused(
            GetJacobian, _MODEL + "get_jacobian", GetJacobian.Request(state=far), "at most 1e+09"
        ),
    )
    yield Fault(
        "dynamics of an unknown joint",
        _refused(
            GetDynamics,
            _MODEL + "get_dynamics",
            GetDynamics.Request(joint_state=_joint(0.0, "elbow")),
            "elbow",
        ),
    )
    yield Fault(
        "dynamics with more positions than names",
        _refused(
            GetDynamics,
            _MODEL + "get_dynamics",
            GetDynamics.Request(joint_state=JointState(name=["panda_joint1"], position=[0.0, 1.0])),
            "2 entries",
        ),
    )
    yield Fault(
        "a batch without states",
        _refused(
            GetDynamicsBatch,
            _MODEL + "get_dynamics_batch",
            GetDynamicsBatch.Request(),
            "1 to 10000",
        ),
    )
    yield Fault(
        "a batch of too many states",
        _refused(
            GetDynamicsBatch,
            _MODEL + "get_dynamics_batch",
            GetDynamicsBatch.Request(states=[RobotState()] * 10_001),
            "1 to 10000",
        ),
    )
    yield Fault(
        "Jacobians of an unknown frame",
        _refused(
            GetJacobian, _MODEL + "get_jacobian", GetJacobian.Request(frames=["moon"]), "moon"
        ),
    )
    yield Fault(
        "Jacobians in unknown axes",
        _refused(GetJacobian, _MODEL + "get_jacobian", GetJacobian.Request(axes=7), "axes must be"),
    )
    yield Fault(
        "a base twist of NaN for a robot on a fixed base",
        lambda world: world.call(
            GetDynamics,
            _MODEL + "get_dynamics",
            GetDynamics.Request(base_pose=Pose(), base_twist=Twist(linear=Vector3(x=float("nan")))),
        ),
    )
    yield Fault(
        "steps of a running simulation",
        _refused(StepSimulation, "/simulator/step", StepSimulation.Request(steps=10), "pause it"),
    )
    yield Fault("a million steps, ended by a pause", _a_million_steps(pause))
    yield Fault("a million steps, ended by a reset", _a_million_steps(reset))
    yield Fault("a request that cannot be decoded", _undecodable)
    yield Fault(
        "a parameter of an unknown type", _parameter("damping_null", ParameterValue(type=77), "77")
    )
    yield Fault(
        "a parameter of another type",
        _parameter(
            "damping_null",
            ParameterValue(type=ParameterType.PARAMETER_STRING, string_value="1"),
            "type",
        ),
    )
    yield Fault("a gain of NaN", _parameter("damping_null", _double(float("nan")), "out of range"))
    yield Fault(
        "a gain beyond its bounds", _parameter("damping_null", _double(1e9), "out of range")
    )
    yield Fault(
        "a parameter that is read-only", _parameter("step", _double(0.1), "read-only", "/simulator")
    )
    yield Fault("a parameter that there is not", _parameter("no_gain", _double(1.0), "undeclared"))
    yield Fault(
        "a transition that there is not",
        lambda world: world.call(
            ChangeState,
            "/simulator/change_state",
            ChangeState.Request(transition=Transition(id=99)),
        ),
    )
    yield Fault("ninety calls, thirty at once", lambda world: calls(world, 90))
    yield Fault("thirty parameter changes", lambda world: changes(world, 30))


REQUESTS = tuple(_table())
