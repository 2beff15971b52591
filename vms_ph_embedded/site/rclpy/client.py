# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Service clients."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy._entity import Entity
from rclpy.callback_groups import CallbackGroup
from rclpy.qos import QoSProfile
from rclpy.task import Future

from vms_ph_embedded import subset
from vms_ph_embedded.interfaces.messages import DecodingError, deserialize, serialize
from vms_ph_embedded.wire import names, pairing, service_header
from vms_ph_embedded.wire.waiting import FOREVER, WaitSet

__getattr__ = subset.make_module_getattr(__name__)


class Client(Entity, subset.RclpySubset):
    """Asks a service; made by :meth:`Node.create_client`."""

    def __init__(
        self,
        node: Any,
        srv_type: Any,
        srv_name: str,
        callback_group: CallbackGroup,
        qos_profile: QoSProfile,
    ) -> None:
        self.context = node.context
        self.srv_type = srv_type
        self.srv_name = srv_name
        self.service_name = name = node.resolve_service_name(srv_name)
        self.qos_profile = qos_profile
        self.callback_group = callback_group
        self._count_undecodable = node._ros_count_undecodable
        self._executor: Callable[[], Any] = lambda: node._ros_executor()
        # The reader first, so that a server which knows the writer can already answer.
        own_id = pairing.new_id(pairing.CLIENT)
        self._reader = node._ros_reader(names.reply(name), srv_type.Response, qos_profile, own_id)
        self._writer = node._ros_writer(names.request(name), srv_type.Request, qos_profile, own_id)
        # All clients of a service share one topic of replies; this filters those of this client.
        self._guid = secrets.randbits(64)
        self._sequence_number = 0
        self._pending_requests: dict[int, Future] = {}
        self._lock = threading.Lock()

    def call(self, request: Any, timeout_sec: float | None = None) -> Any:
        """Ask and wait for the answer, while another thread spins; None when the time is over."""
        done_event = threading.Event()
        future = self.call_async(request)
        future._when_done(done_event.set)
        if not done_event.wait(timeout_sec):
            self.remove_pending_request(future)
        return future.result()

    def call_async(self, request: Any) -> Future:
        """Ask; the future holds the answer once it is there."""
        if not isinstance(request, self.srv_type.Request):
            raise TypeError(f"Expected {self.srv_type.Request}, got {type(request)}")
        self._require_open()
        body = serialize(request)
        if (conflict := self._conflict()) is not None:
            future = Future()
            future.set_exception(RuntimeError(conflict))
            return future
        with self._lock:
            self._sequence_number += 1
            sequence_number = self._sequence_number
            future = Future()
            self._pending_requests[sequence_number] = future
            self._writer.write(service_header.add(body, self._guid, sequence_number))
        future._when_done(lambda: self._forget(sequence_number))
        return future

    def remove_pending_request(self, future: Future) -> None:
        """Wait for an answer no more."""
        with self._lock:
            for sequence_number, pending_future in list(self._pending_requests.items()):
                if pending_future is future:
                    del self._pending_requests[sequence_number]

    def service_is_ready(self) -> bool:
        """Whether there is a server that would answer."""
        self._require_open()
        return self._conflict() is None and pairing.server_is_matched(self._writer, self._reader)

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        """Wait until there is a server; False when the time is over first."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        guard = self.context._make_guard_condition()  # so that a shutdown ends the waiting
        wait_set = WaitSet(self.context._participant.entity)  # type: ignore[union-attr]
        wait_set.watch([self._writer.entity, self._reader.entity, guard])
        try:
            while self.context.ok():
                # Reading the statuses resets them, so that the wait below is for something new.
                self._writer.entity.take_status()
                self._reader.entity.take_status()
                if self.service_is_ready():
                    return True
                timeout = FOREVER if deadline is None else int((deadline - time.monotonic()) * 1e9)
                if timeout <= 0 or not wait_set.wait(timeout):
                    return self.service_is_ready()
            return False
        finally:
            wait_set.close()

    def destroy(self) -> None:
        """Stop; call :meth:`Node.destroy_client` instead."""
        self._close()

    def _conflict(self) -> str | None:
        """Say why no call can be answered; None where one can. Then nothing is sent either."""
        return pairing.conflict(self.service_name, self._writer, self._writer.matches())

    def _forget(self, sequence_number: int) -> None:
        with self._lock:
            self._pending_requests.pop(sequence_number, None)

    def _take(self) -> Callable[[], Any] | None:
        while (sample := self._reader.take()) is not None:
            try:
                body, guid, sequence = service_header.split(sample[0])
                with self._lock:
                    future = self._pending_requests.get(sequence) if guid == self._guid else None
                if future is None:
                    continue
                response = deserialize(body, self.srv_type.Response)
            except DecodingError as error:
                self._count_undecodable(self.service_name, error)
            else:
                future._set_executor(self._executor())
                return partial(future.set_result, response)
        return None
