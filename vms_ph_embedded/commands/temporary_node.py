# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A temporary node for one command, and functions that wait for its results."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import rclpy
import typer
from rclpy.exceptions import NameValidationException
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io.installation import command_name

T = TypeVar("T")

TIMEOUT = 5.0  # timeout of discovery and of service calls, s


@contextmanager
def temporary_node() -> Iterator[Node]:
    """Yield a node that is destroyed at the end of the command; Ctrl-C prints no traceback.

    Raises:
        VmsPhError: an argument is not a valid name of a topic or service.
    """
    rclpy.init(args=[])
    node = rclpy.create_node(
        f"vms_ph_cli_{time.monotonic_ns() % 10**9}", start_parameter_services=False
    )
    try:
        yield node
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except NameValidationException as error:
        raise VmsPhError(str(error)) from None
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def stable_result(node: Node, query: Callable[[], T], quiet_time: float = 0.4) -> T:
    """Return the result of ``query`` once it has not changed for ``quiet`` seconds."""
    last_result, change_time, deadline = query(), time.monotonic(), time.monotonic() + TIMEOUT
    while time.monotonic() - change_time < quiet_time and time.monotonic() < deadline:
        rclpy.spin_once(node, timeout_sec=0.05)
        result = query()
        if result != last_result:
            last_result, change_time = result, time.monotonic()
    return last_result


def wait_for(node: Node, query: Callable[[], T | None], error_text: Callable[[], str]) -> T:
    """Return the result of ``query`` as soon as it is truthy.

    Raises:
        VmsPhError: the result stays falsy until the timeout; ``error_text`` returns the message.
    """
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        if result := query():
            return result
        rclpy.spin_once(node, timeout_sec=0.05)
    raise VmsPhError(error_text())


def print_names(
    node: Node, query: Callable[[], list[tuple[str, list[str]]]], with_types: bool
) -> None:
    """Print the names of topics or services that ``query`` returns, and their types if asked."""
    for name, types in sorted(stable_result(node, query)):
        typer.echo(f"{name} [{', '.join(types)}]" if with_types else name)


def call(node: Node, service_type: Any, name: str, request: Any) -> Any:
    """Call a service and return its response.

    Raises:
        VmsPhError: no node offers the service, or it does not answer.
    """
    client = node.create_client(service_type, name)
    if not client.wait_for_service(timeout_sec=TIMEOUT):
        hint = did_you_mean(name, dict(node.get_service_names_and_types()))
        raise VmsPhError(
            client._conflict()
            or f"no node offers the service {name}{hint} (waited {TIMEOUT:g} s); "
            f"`{command_name()} service list` shows the running ones"
        )
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=TIMEOUT)
    if not future.done():
        raise VmsPhError(f"the service {name} did not answer within {TIMEOUT:g} s")
    return future.result()
