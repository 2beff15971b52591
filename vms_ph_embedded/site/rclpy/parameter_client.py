# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Using the parameters of another node."""

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

__getattr__ = subset.missing_from(__name__)


class AsyncParameterClient(subset.Subset):
    """Asks the parameter services of another node; all methods give a future of the response."""

    def __init__(
        self,
        node: Node,
        remote_node_name: str,
        qos_profile: QoSProfile = qos_profile_services_default,
        callback_group: CallbackGroup | None = None,
    ) -> None:
        self.remote_node_name = remote_node_name
        self.node = node

        def make_client(service_type: Any, name: str) -> Client:
            return node.create_client(
                service_type,
                f"{remote_node_name}/{name}",
                qos_profile=qos_profile,
                callback_group=callback_group,
            )

        self._get_client = make_client(GetParameters, "get_parameters")
        self._describe_client = make_client(DescribeParameters, "describe_parameters")
        self._list_client = make_client(ListParameters, "list_parameters")
        self._set_client = make_client(SetParameters, "set_parameters")

    def services_are_ready(self) -> bool:
        """Whether the other node would answer."""
        return all(client.service_is_ready() for client in self._clients())

    def list_parameters(
        self, prefixes: list[str] | None = None, depth: int | None = None
    ) -> Future:
        """List parameters below some prefixes."""
        request = ListParameters.Request(prefixes=prefixes or [], depth=depth or 0)
        return self._list_client.call_async(request)

    def get_parameters(self, names: list[str]) -> Future:
        """Get the values of parameters."""
        return self._get_client.call_async(GetParameters.Request(names=names))

    def describe_parameters(self, names: list[str]) -> Future:
        """Get the descriptors of parameters."""
        return self._describe_client.call_async(DescribeParameters.Request(names=names))

    def set_parameters(self, parameters: Sequence[Any]) -> Future:
        """Set parameters, given as Parameter or as messages, one after the other."""
        messages = [p.to_parameter_msg() if isinstance(p, Parameter) else p for p in parameters]
        return self._set_client.call_async(SetParameters.Request(parameters=messages))

    def _clients(self) -> list[Client]:
        return [self._list_client, self._set_client, self._get_client, self._describe_client]
