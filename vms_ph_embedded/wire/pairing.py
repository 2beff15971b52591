# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pairs of request and reply endpoints of a service.

A server, and a client, has one endpoint for requests and one for replies, which DDS matches one
after the other. ROS nodes write the same id into the user data of both, so that the other side can
tell whether it has matched the whole.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from vms_ph_embedded.wire import interrupts
from vms_ph_embedded.wire.participant import Participant, Reader, Writer
from vms_ph_embedded.wire.qos import user_data
from vms_ph_embedded.wire.waiting import WaitSet

SERVER, CLIENT = "serviceid", "clientid"
# How the identity of an endpoint begins tells the DDS that made it. These two carry the identity of
# a request beside the bytes, where Cyclone's Python binding can neither write nor read it.
_UNABLE_TO_PAIR = {b"\x01\x0f": "rmw_fastrtps", b"\x01\x01": "rmw_connextdds"}
_TIMEOUT = 0.1  # s; how long a server waits for the reader of a client to whom it has to reply


def new_id(role: str) -> str:
    """User data that identifies a server or client."""
    return f"{role}={secrets.token_bytes(16).hex('.')};"


def conflict(service: str, endpoint: Writer | Reader, handles: list[int]) -> str | None:
    """Say why calls of some matched peers cannot be answered; None where they can."""
    for handle in handles:
        if name := _UNABLE_TO_PAIR.get(endpoint.peer_gid(handle)[:2]):
            return (
                f"the service {service} has a peer that runs {name}. The embedded runtime shares "
                "topics with it, but neither services nor parameters: start the peer with "
                "RMW_IMPLEMENTATION=rmw_cyclonedds_cpp"
            )
    return None


def server_is_matched(request_writer: Writer, reply_reader: Reader) -> bool:
    """Whether a client has matched both endpoints of a server."""
    reader_ids = _ids_of_readers(SERVER, request_writer)
    writer_ids = {_id_of_writer(SERVER, reply_reader, handle) for handle in reply_reader.matches()}
    # A server without an id counts as matched when anything is.
    return bool(reader_ids & writer_ids) or bool(reader_ids and writer_ids and None in reader_ids)


class MatchedClients:
    """The clients whose reader of replies a server has matched."""

    def __init__(self, participant: Participant, requests: Reader, replies: Writer) -> None:
        self._participant = participant
        self._request_reader = requests
        self._reply_writer = replies
        self._handles: set[int] = set()

    def wait_for(self, publication_handle: int) -> None:
        """Wait for the reader of the client that wrote a request, but not for long."""
        if publication_handle in self._handles:
            return
        deadline = time.monotonic() + _TIMEOUT
        wait_set = WaitSet(self._participant.entity)
        wait_set.watch([self._reply_writer.entity])
        try:
            while not self._is_matched(publication_handle):
                remaining_ns = int((deadline - time.monotonic()) * 1e9)
                if remaining_ns <= 0 or not wait_set.wait(remaining_ns):
                    return
        finally:
            wait_set.close()
        if len(self._handles) > 1000:  # clients that went long ago
            self._handles.clear()
        self._handles.add(publication_handle)

    def _is_matched(self, publication_handle: int) -> bool:
        self._reply_writer.entity.take_status()  # so that the next wait is for something new
        writer_id = _id_of_writer(CLIENT, self._request_reader, publication_handle)
        # It has none when the client has gone, or never had one.
        return writer_id is None or writer_id in _ids_of_readers(CLIENT, self._reply_writer)


def _ids_of_readers(role: str, writer: Writer) -> set[str | None]:
    with interrupts.deferred():
        readers = [writer.entity.get_matched_subscription_data(match) for match in writer.matches()]
    return {_endpoint_id(role, reader) for reader in readers}


def _id_of_writer(role: str, reader: Reader, handle: int) -> str | None:
    with interrupts.deferred():
        return _endpoint_id(role, reader.entity.get_matched_publication_data(handle))


def _endpoint_id(role: str, endpoint: Any) -> str | None:
    return user_data(endpoint.qos).get(role) if endpoint is not None else None
