# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The six services by which other nodes use the parameters of a node."""

from __future__ import annotations

import weakref
from typing import Any

from rcl_interfaces.msg import ListParametersResult, SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.exceptions import ParameterNotDeclaredException, ParameterUninitializedException
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_parameters


class ParameterService:
    """Serves the parameters of a node to other nodes."""

    def __init__(self, node: Any) -> None:
        self._node_ref = weakref.ref(node)
        for srv_type, name, callback in (
            (DescribeParameters, "describe_parameters", self._describe),
            (GetParameters, "get_parameters", self._get),
            (GetParameterTypes, "get_parameter_types", self._get_types),
            (ListParameters, "list_parameters", self._list),
            (SetParameters, "set_parameters", self._set),
            (SetParametersAtomically, "set_parameters_atomically", self._set_atomically),
        ):
            node.create_service(srv_type, f"~/{name}", callback, qos_profile=qos_profile_parameters)

    @property
    def _node(self) -> Any:
        return self._node_ref()

    def _describe(self, request: Any, response: Any) -> Any:
        try:
            response.descriptors = self._node.describe_parameters(request.names)
        except ParameterNotDeclaredException:
            response.descriptors = []
        return response

    def _get(self, request: Any, response: Any) -> Any:
        try:
            parameters = self._node.get_parameters(request.names)
            response.values = [parameter.get_parameter_value() for parameter in parameters]
        except (ParameterNotDeclaredException, ParameterUninitializedException):
            response.values = []
        return response

    def _get_types(self, request: Any, response: Any) -> Any:
        try:
            types = self._node.get_parameter_types(request.names)
            response.types = [getattr(type_, "value", type_) for type_ in types]
        except ParameterNotDeclaredException:
            response.types = []
        return response

    def _list(self, request: Any, response: Any) -> Any:
        try:
            response.result = self._node.list_parameters(request.prefixes, request.depth)
        except (TypeError, ValueError):
            response.result = ListParametersResult()
        return response

    def _set(self, request: Any, response: Any) -> Any:
        response.results = [self._try_to_set([message]) for message in request.parameters]
        return response

    def _set_atomically(self, request: Any, response: Any) -> Any:
        response.result = self._try_to_set(request.parameters)
        return response

    def _try_to_set(self, messages: list[Any]) -> Any:
        try:
            parameters = [Parameter.from_parameter_msg(message) for message in messages]
        except ValueError as error:  # an unknown type
            return SetParametersResult(successful=False, reason=str(error))
        try:
            return self._node.set_parameters_atomically(parameters)
        except ParameterNotDeclaredException as error:
            return SetParametersResult(successful=False, reason=str(error))
