# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of callbacks that may, or must not, run at the same time."""

from __future__ import annotations

import threading
import weakref
from typing import Any


class CallbackGroup:
    """Base of callback groups, which decide whether the callback of an entity may run now."""

    def __init__(self) -> None:
        self.entities: set[weakref.ref[Any]] = set()

    def add_entity(self, entity: Any) -> None:
        """Add an entity whose callback this group governs."""
        self.entities.add(weakref.ref(entity, self.entities.discard))

    def has_entity(self, entity: Any) -> bool:
        """Whether this group governs the callback of an entity."""
        return weakref.ref(entity) in self.entities

    def can_execute(self, entity: Any) -> bool:
        """Whether the callback of an entity may run now."""
        raise NotImplementedError

    def beginning_execution(self, entity: Any) -> bool:
        """Begin to run a callback; when True, ending_execution must follow."""
        raise NotImplementedError

    def ending_execution(self, entity: Any) -> None:
        """End to run a callback."""
        raise NotImplementedError


class ReentrantCallbackGroup(CallbackGroup):
    """All callbacks may run at any time."""

    def can_execute(self, entity: Any) -> bool:
        """Always."""
        return True

    def beginning_execution(self, entity: Any) -> bool:
        """Always allowed."""
        return True

    def ending_execution(self, entity: Any) -> None:
        """Nothing to do."""


class MutuallyExclusiveCallbackGroup(CallbackGroup):
    """One callback runs at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._active_entity: Any = None
        self._lock = threading.Lock()

    def can_execute(self, entity: Any) -> bool:
        """Whether no callback of this group is running."""
        return self._active_entity is None

    def beginning_execution(self, entity: Any) -> bool:
        """Begin, unless another callback of this group is running."""
        with self._lock:
            if self._active_entity is None:
                self._active_entity = entity
                return True
            return False

    def ending_execution(self, entity: Any) -> None:
        """Allow the next callback to run."""
        with self._lock:
            self._active_entity = None
