# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Service servers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from rclpy._entity import Entity
from rclpy.callback_groups import CallbackGroup
from rclpy.qos import QoSProfile

from vms_ph_embedded import subset
from vms_ph_embedded.interfaces.messages import DecodingError, deserialize, serialize
from vms_ph_embedded.wire import names, pairing, service_header

__getattr__ = subset.make_module_getattr(__name__)


class RequestHeader(NamedTuple):
    """Identity of a request: its client and sequence number."""

    guid: int
    sequence_number: int
    publication_handle: int


class Service(Entity, subset.RclpySubset):
    """Answers requests; made by :meth:`Node.create_service`."""

    def __init__(
        self,
        node: Any,
        srv_type: Any,
        srv_name: str,
        callback: Callable[[Any, Any], Any],
        callback_group: CallbackGroup,
        qos_profile: QoSProfile,
    ) -> None:
        self.srv_type = srv_type
        self.srv_name = srv_name
        self.service_name = name = node.resolve_service_name(srv_name)
        self.callback = callback
        self.callback_group = callback_group
        self.qos_profile = qos_profile
        self._count_undecodable = node._ros_count_undecodable
        own_id = pairing.new_id(pairing.SERVER)
        self._reader = node._ros_reader(names.request(name), srv_type.Request, qos_profile, own_id)
        self._writer = node._ros_writer(names.reply(name), srv_type.Response, qos_profile, own_id)
        self._clients = pairing.MatchedClients(node._ros_participant, self._reader, self._writer)

    def send_response(self, response: Any, header: RequestHeader) -> None:
        """Answer a request."""
        if not isinstance(response, self.srv_type.Response):
            raise TypeError(
                f"a callback of the service {self.service_name} returned {response!r}, "
                f"which is no {self.srv_type.Response.__name__}"
            )
        self._require_open()
        self._clients.wait_for(header.publication_handle)
        self._writer.write(
            service_header.add(serialize(response), header.guid, header.sequence_number)
        )

    def destroy(self) -> None:
        """Stop; call :meth:`Node.destroy_service` instead."""
        self._close()

    def _conflict_of_new_clients(self) -> str | None:
        """Say why a client cannot be answered; None without one, or when none has come or gone."""
        handles = self._reader.matches() if self._reader.entity.take_status() else []
        return pairing.conflict(self.service_name, self._reader, handles)

    def _take(self) -> Callable[[], Any] | None:
        sample = self._reader.take()
        if sample is None:
            return None
        header = None
        try:
            handles = [sample[1].publication_handle]
            if (conflict := pairing.conflict(self.service_name, self._reader, handles)) is not None:
                raise DecodingError(conflict)
            body, guid, sequence_number = service_header.split(sample[0])
            header = RequestHeader(guid, sequence_number, sample[1].publication_handle)
            request = deserialize(body, self.srv_type.Request)
        except DecodingError as error:
            self._count_undecodable(self.service_name, error)
            return header and partial(self.send_response, self._error_response(str(error)), header)

        def respond() -> Any:
            response = self.callback(request, self.srv_type.Response())
            if inspect.iscoroutine(response):
                return respond_later(response)
            self.send_response(response, header)
            return None

        async def respond_later(response: Any) -> None:
            self.send_response(await response, header)

        return respond

    def _error_response(self, reason: str) -> Any:
        """The response without any content, but with the reason where it has a field for one."""
        response = self.srv_type.Response()
        for field in {"message", "reason"} & set(response.get_fields_and_field_types()):
            setattr(response, field, reason)
        return response
