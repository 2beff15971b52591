# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Using the parameters of another node."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
)
from rclpy.callback_groups import CallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, qos_profile_services_default
from rclpy.task import Future

from vms_ph_embedded import subset

__getattr__ = subset.missing_from(__name__)

_Callback = Callable[[Future], Any]


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

        def client(service: Any, name: str) -> Client:
            return node.create_client(
                service,
                f"{remote_node_name}/{name}",
                qos_profile=qos_profile,
                callback_group=callback_group,
            )

        self._get = client(GetParameters, "get_parameters")
        self._describe = client(DescribeParameters, "describe_parameters")
        self._list = client(ListParameters, "list_parameters")
        self._set = client(SetParameters, "set_parameters")

    def services_are_ready(self) -> bool:
        """Whether the other node would answer."""
        return all(client.service_is_ready() for client in self._clients())

    def wait_for_services(self, timeout_sec: float | None = None) -> bool:
        """Wait until the other node would answer; False when the time is over first."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        for client in self._clients():
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            if not client.wait_for_service(left):
                return False
        return True

    def list_parameters(
        self,
        prefixes: list[str] | None = None,
        depth: int | None = None,
        callback: _Callback | None = None,
    ) -> Future:
        """List parameters below some prefixes."""
        request = ListParameters.Request(prefixes=prefixes or [], depth=depth or 0)
        return _ask(self._list, request, callback)

    def get_parameters(self, names: list[str], callback: _Callback | None = None) -> Future:
        """Get the values of parameters."""
        return _ask(self._get, GetParameters.Request(names=names), callback)

    def describe_parameters(self, names: list[str], callback: _Callback | None = None) -> Future:
        """Get the descriptors of parameters."""
        return _ask(self._describe, DescribeParameters.Request(names=names), callback)

    def set_parameters(
        self, parameters: Sequence[Any], callback: _Callback | None = None
    ) -> Future:
        """Set parameters, given as Parameter or as messages, one after the other."""
        request = SetParameters.Request(parameters=_messages(parameters))
        return _ask(self._set, request, callback)

    def _clients(self) -> list[Client]:
        return [self._list, self._set, self._get, self._describe]


def _ask(client: Client, request: Any, callback: _Callback | None) -> Future:
    future = client.call_async(request)
    if callback is not None:
        future.add_done_callback(callback)
    return future


def _messages(parameters: Sequence[Any]) -> list[Any]:
    return [p.to_parameter_msg() if isinstance(p, Parameter) else p for p in parameters]
