# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The state of the default context."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rclpy import _arguments
from rclpy.context import Context, _default_lock, _reset_default, get_default_context

from vms_ph_embedded import subset

__getattr__ = subset.make_module_getattr(__name__)

__all__ = [
    "get_default_context",
    "get_rmw_implementation_identifier",
    "ok",
    "remove_ros_args",
    "shutdown",
    "try_shutdown",
]


def ok(*, context: Context | None = None) -> bool:
    """Whether a context is initialised and not shut down."""
    return (context or get_default_context()).ok()


def shutdown(*, context: Context | None = None) -> None:
    """Shut a context down."""
    (context or get_default_context(shutting_down=True)).shutdown()


def try_shutdown(*, context: Context | None = None) -> None:
    """Shut a context down if that has not happened yet."""
    if context is not None:
        context.try_shutdown()
        return
    with _default_lock:
        get_default_context().try_shutdown()
        _reset_default()


def remove_ros_args(args: Sequence[str] | None = None) -> list[str]:
    """The command-line arguments that are not for ROS."""
    return _arguments.parse(sys.argv if args is None else args).non_ros_args


def get_rmw_implementation_identifier() -> str:
    """The name of the middleware, whose conventions on the wire are those of rmw_cyclonedds."""
    return "rmw_cyclonedds_cpp"
