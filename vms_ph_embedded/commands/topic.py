# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph topic: lists, inspects, reads and publishes topics."""

import time
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

import rclpy
import typer
from rclpy.node import Node

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io.installation import command_name
from vms_ph_nodes.topics.interfaces import compatible_qos, load_interface

from .message_text import parse, set_fields, to_yaml
from .temporary_node import print_names, stable_result, temporary_node, wait_for

app = typer.Typer(help="List, read and publish topics.", no_args_is_help=True)

_TOPIC = typer.Argument(help="name of the topic, like /vms_ph/energy")


@app.command("list")
def list_topics(
    show_types: bool = typer.Option(False, "--show-types", "-t", help="also show the types"),
) -> None:
    """List the topics that have a publisher or subscription."""
    with temporary_node() as node:
        print_names(node, node.get_topic_names_and_types, show_types)


@app.command()
def info(name: str = _TOPIC) -> None:
    """Show the type, publishers and subscriptions of a topic."""
    with temporary_node() as node:
        name = node.resolve_topic_name(name)
        type_name = _topic_type(node, name)
        queries = (node.get_publishers_info_by_topic, node.get_subscriptions_info_by_topic)
        publishers, subscribers = stable_result(node, lambda: [_labels(f(name)) for f in queries])
        typer.echo(f"Type: {type_name}")
        for title, endpoints in (("Publisher", publishers), ("Subscription", subscribers)):
            typer.echo(f"{title} count: {len(endpoints)}")
            for endpoint in endpoints:
                typer.echo(f"  {endpoint}")


@app.command()
def echo(
    name: str = _TOPIC, once: bool = typer.Option(False, "--once", help="exit after one message")
) -> None:
    """Print the messages of a topic as they are received."""
    with temporary_node() as node:
        name = node.resolve_topic_name(name)
        messages: deque[Any] = deque()
        # rclpy inspects the signature of a callback, and that of a built-in method is not known.
        _subscribe(node, name, lambda message: messages.append(message))
        while True:
            rclpy.spin_once(node, timeout_sec=0.2)
            while messages:
                typer.echo(f"{to_yaml(messages.popleft())}\n---")
                if once:
                    return


@app.command()
def pub(
    name: str = _TOPIC,
    type_name: str = typer.Argument(
        metavar="TYPE", help="type of the topic, like geometry_msgs/msg/PoseStamped"
    ),
    fields: str = typer.Argument("{}", help="values of the fields, as YAML"),
    once: bool = typer.Option(False, "--once", "-1", help="publish one message and exit"),
    times: int = typer.Option(0, "--times", "-t", help="publish so many messages and exit", min=0),
    rate: float = typer.Option(1.0, "--rate", "-r", help="Hz", min=0.001),
) -> None:
    """Publish messages with the given fields; a header is stamped with the present time."""
    message_type = load_interface(type_name, "msg")
    message = set_fields(message_type(), parse(fields))
    with temporary_node() as node:
        name = node.resolve_topic_name(name)

        def error_message() -> str:
            hint = did_you_mean(name, dict(node.get_topic_names_and_types()))
            return f"no node subscribes to {name}{hint}; nothing was published"

        # Checked before there is a publisher: subscribers warn about a publisher of a wrong type.
        wait_for(node, lambda: node.count_subscribers(name), error_text=error_message)
        present_types = dict(node.get_topic_names_and_types()).get(name, [])
        if present_types and message_type not in [load_interface(n, "msg") for n in present_types]:
            raise VmsPhError(
                f"the type of {name} is {' and '.join(present_types)}, not {type_name}"
            )
        publisher = node.create_publisher(message_type, name, 10)
        wait_for(node, publisher.get_subscription_count, error_text=error_message)
        typer.echo(f"publishing on {name}:\n{to_yaml(message)}")
        for message_count in count(1):
            if hasattr(message, "header"):
                message.header.stamp = node.get_clock().now().to_msg()
            publisher.publish(message)
            if message_count == (1 if once else times):
                _spin_for(node, 0.3)  # a reliable publisher delivers its last message
                return
            _spin_for(node, 1.0 / rate)


def _topic_type(node: Node, name: str) -> str:
    def types_by_topic() -> dict[str, list[str]]:
        return dict(node.get_topic_names_and_types())

    def error_message() -> str:
        hint = did_you_mean(name, types_by_topic())
        return (
            f"there is no topic {name}{hint}; `{command_name()} topic list` shows the running ones"
        )

    return wait_for(node, lambda: types_by_topic().get(name), error_text=error_message)[0]


def _subscribe(node: Node, name: str, callback: Callable[[Any], None]) -> None:
    message_type = load_interface(_topic_type(node, name), "msg")
    profiles = [info.qos_profile for info in node.get_publishers_info_by_topic(name)]
    node.create_subscription(message_type, name, callback, compatible_qos(profiles, depth=100))


def _spin_for(node: Node, duration: float) -> None:
    deadline = time.monotonic() + duration
    while (remaining_time := deadline - time.monotonic()) > 0:
        rclpy.spin_once(node, timeout_sec=remaining_time)


def _labels(endpoints: Any) -> list[str]:
    return sorted(
        f"{e.node_namespace.rstrip('/')}/{e.node_name} ({e.qos_profile.reliability.name.lower()}, "
        f"{e.qos_profile.durability.name.lower()})"
        for e in endpoints
    )
