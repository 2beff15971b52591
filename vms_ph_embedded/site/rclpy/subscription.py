# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Subscriptions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy._entity import Entity
from rclpy.callback_groups import CallbackGroup
from rclpy.qos import QoSProfile

from vms_ph_embedded import subset
from vms_ph_embedded.interfaces.messages import DecodingError, deserialize
from vms_ph_embedded.wire import mismatch, names

__getattr__ = subset.make_module_getattr(__name__)


class Subscription(Entity, subset.RclpySubset):
    """Has a callback called with each message; made by :meth:`Node.create_subscription`."""

    def __init__(
        self,
        node: Any,
        msg_type: Any,
        topic: str,
        callback: Callable[..., Any],
        callback_group: CallbackGroup,
        qos_profile: QoSProfile,
        raw: bool,
    ) -> None:
        self.msg_type = msg_type
        self.topic = topic
        self.topic_name = node.resolve_topic_name(topic)
        self.callback = callback
        self.callback_group = callback_group
        self.qos_profile = qos_profile
        self.raw = raw
        self._count_undecodable = node._ros_count_undecodable
        self._reader = node._ros_reader(names.topic(self.topic_name), msg_type, qos_profile)
        mismatch.watch(self._reader)

    @property
    def callback(self) -> Callable[..., Any]:
        """The callback, called with the message, or with the message and information about it."""
        return self._callback

    @callback.setter
    def callback(self, value: Callable[..., Any]) -> None:
        signature = inspect.signature(value)
        self._callback = value
        for argument_count in (1, 2):
            try:
                signature.bind(*[None] * argument_count)
            except TypeError:
                continue
            self._wants_info = argument_count == 2
            return
        raise RuntimeError(
            "Subscription.__init__(): callback should be either be callable with one argument"
            "(to get only the message) or two (to get message and message info)"
        )

    def get_publisher_count(self) -> int:
        """Number of matched publishers."""
        self._require_open()
        return len(self._reader.matches())

    def destroy(self) -> None:
        """Stop; call :meth:`Node.destroy_subscription` instead."""
        self._close()

    def _take(self) -> Callable[[], Any] | None:
        sample = self._reader.take()
        if sample is None:
            return None
        data, info = sample
        try:
            message = data if self.raw else deserialize(data, self.msg_type)
        except DecodingError as error:
            self._count_undecodable(self.topic_name, error)
            return None
        if not self._wants_info:
            return partial(self._callback, message)
        message_info = {
            "source_timestamp": info.source_timestamp,
            # Cyclone's Python binding does not pass the time of reception on.
            "received_timestamp": 0,
        }
        return partial(self._callback, message, message_info)
