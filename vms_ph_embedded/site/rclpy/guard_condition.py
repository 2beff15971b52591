# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conditions that a program triggers itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup

from vms_ph_embedded import subset

__getattr__ = subset.missing_from(__name__)


class GuardCondition(subset.Subset):
    """Has its callback called by an executor after it was triggered."""

    def __init__(
        self,
        callback: Callable[[], Any] | None,
        callback_group: CallbackGroup | None,
        context: Any = None,
    ) -> None:
        self.callback = callback
        self.callback_group = callback_group
        self._triggered = False
        self._destroyed = False
        self._wake: Callable[[], None] = lambda: None  # set by the node

    def trigger(self) -> None:
        """Have the callback called."""
        self._triggered = True
        self._wake()

    def destroy(self) -> None:
        """Call the callback no more."""
        self._destroyed = True

    def _has_work(self) -> bool:
        return self._triggered

    def _take(self) -> Callable[[], Any] | None:
        if not self._triggered or self._destroyed:
            return None
        self._triggered = False
        return self.callback
