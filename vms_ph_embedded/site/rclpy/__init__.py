# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 in Python, as far as the embedded runtime of vms_ph covers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rclpy.context import Context
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions, install_signal_handlers, uninstall_signal_handlers
from rclpy.task import Future
from rclpy.utilities import get_default_context, get_rmw_implementation_identifier, ok, try_shutdown
from rclpy.utilities import shutdown as _shutdown

from vms_ph_embedded import subset

if TYPE_CHECKING:
    from rclpy.executors import Executor
    from rclpy.node import Node

__all__ = [
    "Context",
    "Future",
    "Parameter",
    "SignalHandlerOptions",
    "create_node",
    "get_default_context",
    "get_global_executor",
    "get_rmw_implementation_identifier",
    "init",
    "ok",
    "shutdown",
    "spin",
    "spin_once",
    "spin_until_future_complete",
    "try_shutdown",
]
__getattr__ = subset.make_module_getattr(__name__)

_executor: Executor | None = None


def init(
    *,
    args: Sequence[str] | None = None,
    context: Context | None = None,
    domain_id: int | None = None,
    signal_handler_options: SignalHandlerOptions | None = None,
) -> None:
    """Join the ROS graph; the default context also handles SIGINT and SIGTERM."""
    is_default = context is None or context is get_default_context()
    if signal_handler_options is None:
        signal_handler_options = SignalHandlerOptions.ALL if is_default else SignalHandlerOptions.NO
    (context or get_default_context()).init(args, domain_id=domain_id)
    install_signal_handlers(signal_handler_options)


def shutdown(*, context: Context | None = None, uninstall_handlers: bool | None = None) -> None:
    """Leave the ROS graph."""
    is_default = context is None or context is get_default_context()
    _shutdown(context=context)
    if uninstall_handlers or (uninstall_handlers is None and is_default):
        uninstall_signal_handlers()


def create_node(node_name: str, **kwargs: Any) -> Node:
    """Make a node; takes what :class:`rclpy.node.Node` takes."""
    from rclpy.node import Node

    return Node(node_name, **kwargs)


def get_global_executor() -> Executor:
    """The executor of functions that are given none."""
    global _executor
    if _executor is None:
        from rclpy.executors import SingleThreadedExecutor

        _executor = SingleThreadedExecutor()
        get_default_context().on_shutdown(_forget_executor)
    return _executor


def _forget_executor() -> None:
    global _executor
    if _executor is not None:
        _executor.shutdown()
        _executor = None


def spin_once(
    node: Node, *, executor: Executor | None = None, timeout_sec: float | None = None
) -> None:
    """Wait for a callback of a node and call it."""
    executor = executor or get_global_executor()
    try:
        executor.add_node(node)
        executor.spin_once(timeout_sec=timeout_sec)
    finally:
        executor.remove_node(node)


def spin(node: Node, executor: Executor | None = None) -> None:
    """Call the callbacks of a node until shutdown."""
    executor = executor or get_global_executor()
    try:
        executor.add_node(node)
        while executor.context.ok():
            executor.spin_once()
    finally:
        executor.remove_node(node)


def spin_until_future_complete(
    node: Node, future: Future, executor: Executor | None = None, timeout_sec: float | None = None
) -> None:
    """Call the callbacks of a node until a future is done."""
    executor = executor or get_global_executor()
    is_added = executor.add_node(node)
    try:
        executor.spin_until_future_complete(future, timeout_sec)
    finally:
        if is_added:
            executor.remove_node(node)
