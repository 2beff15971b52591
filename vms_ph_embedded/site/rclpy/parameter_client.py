# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A client of the parameter services of another node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.callback_groups import CallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, qos_profile_services_default
from rclpy.task import Future

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)


class AsyncParameterClient(subset.RclpySubset):
    """Asks the parameter services of another node; requests return a future of the response."""

    def __init__(
        self,
        node: Node,
        remote_node_name: str,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self.remote_node_name = remote_node_name
        self.node = node
        names = ("get_parameters", "describe_parameters", "list_parameters", "set_parameters")
        service_types = (GetParameters, DescribeParameters, ListParameters, SetParameters)
        self._clients: dict[str, Client] = {
            name: node.create_client(
                service_type,
                f"{remote_node_name}/{name}",
                qos_profile=qos_profile,
                callback_group=callback_group,
            )
            for name, service_type in zip(names, service_types, strict=True)
        }

    def services_are_ready(self) -> bool:
        """Whether the other node would answer."""
        return all(client.service_is_ready() for client in self._clients.values())

    def list_parameters(
        self, prefixes: list[str] | None = None, depth: int | None = None
    ) -> Future:
        """List parameters below some prefixes."""
        request = ListParameters.Request(prefixes=prefixes or [], depth=depth or 0)
        return self._clients["list_parameters"].call_async(request)

    def get_parameters(self, names: list[str]) -> Future:
        """Get the values of parameters."""
        return self._clients["get_parameters"].call_async(GetParameters.Request(names=names))

    def describe_parameters(self, names: list[str]) -> Future:
        """Get the descriptors of parameters."""
        request = DescribeParameters.Request(names=names)
        return self._clients["describe_parameters"].call_async(request)

    def set_parameters(self, parameters: Sequence[Any]) -> Future:
        """Set parameters, each a Parameter or a message; each is set on its own."""
        messages = [p.to_parameter_msg() if isinstance(p, Parameter) else p for p in parameters]
        request = SetParameters.Request(parameters=messages)
        return self._clients["set_parameters"].call_async(request)
