# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import Log, ParameterEvent
from rclpy import _arguments
from rclpy._node_entities import NodeEntities
from rclpy._node_graph import NodeGraph, NodeNameNonExistentError
from rclpy._node_parameters import NodeParameters
from rclpy._valid_names import full_name, require_node_name
from rclpy.clock import Clock, ROSClock
from rclpy.constants import S_TO_NS
from rclpy.context import Context, get_default_context
from rclpy.duration import Duration
from rclpy.exceptions import NotInitializedException
from rclpy.logging import RcutilsLogger, _add_listener, _remove_listener, get_logger
from rclpy.parameter import Parameter
from rclpy.parameter_service import ParameterService
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_parameter_events
from rclpy.time_source import TimeSource

from vms_ph_embedded import ros_names, subset
from vms_ph_embedded.wire.graph import NodeEntry

__getattr__ = subset.make_module_getattr(__name__)
__all__ = ["Node", "NodeNameNonExistentError"]

_ROSOUT_QOS = QoSProfile(
    depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL, lifespan=Duration(seconds=10)
)


class Node(NodeEntities, NodeParameters, NodeGraph, subset.RclpySubset):
    """A participant in the ROS graph: a name with publishers, subscriptions, parameters ..."""

    def __init__(
        self,
        node_name: str,
        *,
        context: Context | None = None,
        cli_args: Sequence[str] | None = None,
        namespace: str | None = None,
        use_global_arguments: bool = True,
        enable_rosout: bool = True,
        start_parameter_services: bool = True,
        parameter_overrides: Sequence[Parameter] | None = None,
        allow_undeclared_parameters: bool = False,
        enable_logger_service: bool = False,
    ) -> None:
        if enable_logger_service:
            subset.refuse("Node(enable_logger_service=True)")
        self._context = context or get_default_context()
        if not self._context.ok():
            raise NotInitializedException("cannot create node")
        local = [_arguments.parse(["--ros-args", *cli_args])] if cli_args else []
        self._ros_arguments = [*local, self._context._arguments] if use_global_arguments else local
        self._ros_set_names(node_name, namespace)
        overrides = {
            name: Parameter(name, value=value)
            for name, value in _arguments.parameters_of(
                self.get_fully_qualified_name(), self._ros_arguments[::-1]
            ).items()
        }
        overrides.update({parameter.name: parameter for parameter in parameter_overrides or ()})
        NodeParameters.__init__(self, overrides, allow_undeclared=allow_undeclared_parameters)
        NodeEntities.__init__(self, self._context, NodeEntry(self._ros_name, self._ros_namespace))

        self._logger = get_logger(self.get_fully_qualified_name()[1:].replace("/", "."))
        self._parameter_event_publisher = self.create_publisher(
            ParameterEvent, "/parameter_events", qos_profile_parameter_events
        )
        self._ros_log_publisher = None
        if enable_rosout and all(arguments.enable_rosout for arguments in self._ros_arguments):
            self._ros_log_publisher = self.create_publisher(Log, "/rosout", _ROSOUT_QOS)
            _add_listener(self._logger.name, _rosout_publisher(weakref.ref(self)))
        self._clock = ROSClock()
        self._ros_wake_with_clock()
        self._time_source = TimeSource(node=self)
        self._time_source.attach_clock(self._clock)
        if start_parameter_services:
            self._parameter_service = ParameterService(self)
        self._ros_enter_graph()

    def _ros_set_names(self, node_name: str, namespace: str | None) -> None:
        namespace = ros_names.absolute_namespace(namespace)
        require_node_name(node_name, namespace)
        node_name = _arguments.remap_node("__node", node_name, self._ros_arguments) or node_name
        self._ros_name = node_name
        self._ros_namespace = (
            _arguments.remap_node("__ns", node_name, self._ros_arguments) or namespace
        )

    # What this node is

    @property
    def context(self) -> Context:
        """The context of this node."""
        return self._context

    @property
    def executor(self) -> Any:
        """The executor that serves this node, if there is one."""
        return self._ros_executor()

    @executor.setter
    def executor(self, new_executor: Any) -> None:
        current_executor = self.executor
        if current_executor is new_executor:
            return
        if current_executor is not None:
            current_executor.remove_node(self)
        if new_executor is None:
            self._ros_executor = lambda: None
        else:
            self._ros_executor = weakref.ref(new_executor)
            new_executor.add_node(self)

    def get_name(self) -> str:
        """The name of this node."""
        return self._ros_name

    def get_namespace(self) -> str:
        """The namespace of this node."""
        return self._ros_namespace

    def get_fully_qualified_name(self) -> str:
        """The namespace and the name of this node."""
        return f"{self._ros_namespace.rstrip('/')}/{self._ros_name}"

    def get_clock(self) -> Clock:
        """The clock of this node."""
        return self._clock

    def get_logger(self) -> RcutilsLogger:
        """The logger of this node."""
        return self._logger

    def resolve_topic_name(self, topic: str, *, only_expand: bool = False) -> str:
        """The full name of a topic, remapped unless only expanded."""
        return self._ros_resolve(topic, "topic", only_expand)

    def resolve_service_name(self, service: str, *, only_expand: bool = False) -> str:
        """The full name of a service, remapped unless only expanded."""
        return self._ros_resolve(service, "service", only_expand)

    def destroy_node(self) -> None:
        """Leave the graph, with everything that was made here."""
        _remove_listener(self._logger.name)
        self._ros_leave_graph()

    # How it is done

    def _ros_wake_with_clock(self) -> None:
        # A change of the time may make timers ready that the executor waits for.
        node = weakref.ref(self)

        def interrupt() -> None:
            if (existing_node := node()) is not None:
                existing_node._ros_interrupt_executor()

        self._clock._change_callbacks.append(interrupt)

    def _ros_resolve(self, name: str, kind: str, only_expand: bool) -> str:
        is_service = kind == "service"
        absolute_name = full_name(name, self._ros_name, self._ros_namespace, is_service=is_service)
        if only_expand:
            return absolute_name
        return _arguments.remap_name(
            kind, absolute_name, self._ros_name, self._ros_namespace, self._ros_arguments
        )

    def _ros_publish_parameter_event(self, event: Any) -> None:
        event.node = self.get_fully_qualified_name()
        event.stamp = self._clock.now().to_msg()
        self._parameter_event_publisher.publish(event)


def _rosout_publisher(node_of: Callable[[], Node | None]) -> Callable[..., None]:
    def publish(stamp: int, severity: int, name: str, message: str, caller: Any) -> None:
        node = node_of()
        if node is None or node._ros_log_publisher is None or not node._context.ok():
            return
        log = Log(
            level=int(severity),
            name=name,
            msg=message,
            file=caller.f_code.co_filename,
            function=caller.f_code.co_name,
            line=caller.f_lineno,
        )
        log.stamp.sec, log.stamp.nanosec = divmod(stamp, S_TO_NS)
        node._ros_log_publisher.publish(log)

    return publish
