# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a node has made, until it is destroyed."""

from __future__ import annotations

from rclpy.exceptions import InvalidHandle


class Entity:
    """Something that a node has made, with a DDS reader, a DDS writer, or both."""

    _is_destroyed = False

    def _close(self) -> None:
        """Stop: close reader and writer, at the first call."""
        if not self._is_destroyed:
            self._is_destroyed = True
            for endpoint in (getattr(self, "_reader", None), getattr(self, "_writer", None)):
                if endpoint is not None:
                    endpoint.close()

    def _require_open(self) -> None:
        if self._is_destroyed:
            raise InvalidHandle("cannot use Destroyable because destruction was requested")

    def _has_work(self) -> bool:
        return self._reader.has_data()
