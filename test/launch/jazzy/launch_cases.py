# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Launch files for the comparison with ROS 2: as many corners as there are, one each.

Paths come from the environment variable T_HERE, so that the recorded answers hold anywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import yaml

HERE = Path(__file__).resolve().parent
VARIABLES = (
    '<arg name="v" default="7"/><arg name="l" default="[1, 2]"/><arg name="t" default="true"/>'
    '<arg name="tiny" default="1e-6"/><let name="e" value=""/><let name="two words" value="p q"/>'
)


@dataclass(frozen=True)
class Case:
    """One launch file, its arguments, what it is about, and a name for the reader of a failure."""

    subject: str
    name: str
    xml: str
    arguments: tuple[str, ...] = ()


def node(attributes: str = "", inside: str = "") -> str:
    return f'<node pkg="vms_ph" exec="simulator" name="sim" {attributes}>{inside}</node>'


def cases() -> Iterator[Case]:
    """All cases, in a fixed order."""
    corners = yaml.safe_load((HERE / "cases.yaml").read_text())
    for subject, name, xml, *arguments in _cases(corners):
        xml = xml.replace("NODE", node()).replace("INCLUDED", "$(env T_HERE)/included.launch.xml")
        whole = f"<launch>{xml}</launch>"
        yield Case(subject, " ".join([name, *arguments]), whole, tuple(arguments))


def _cases(corners: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for kind in ("", *corners["types"]):
        typed = f' type="{kind}"' if kind else ""
        about = f"parameters of type {kind}" if kind else "parameters of no given type"
        for value in corners["values"]:
            inside = f'<param name="p" value={quoteattr(value)}{typed}/>'
            yield about, f"param {kind} {value!r}", VARIABLES + node(inside=inside)
    for words in corners["words"]:
        given = quoteattr(words)
        executable = f"<executable cmd={quoteattr('prog ' + words)}/>"
        arguments = node(f"args={given} ros_args={given}")
        yield "words of a command", f"words {words!r}", VARIABLES + executable + arguments
    for text in corners["conditions"]:
        given = quoteattr(text)
        logs = f'<log message="x" if={given}/><log message="y" unless={given}/>'
        yield "conditions", f"condition {text!r}", VARIABLES.replace("7", "1") + logs
    for text in corners["expressions"]:
        escaped = text.replace("'", "\\'")
        message = quoteattr(f"$(eval '{escaped}')")
        yield "expressions", f"eval {text}", f"{VARIABLES}<log message={message}/>"
    for namespace in corners["namespaces"]:
        given, inside = f"namespace={quoteattr(namespace)}", '<param name="p" value="1"/>'
        pushed = f"<push_ros_namespace {given}/>" + node('namespace="in"', inside)
        yield "namespaces", f"pushed {namespace!r}", pushed + node()
        outer = '<push-ros-namespace namespace="out"/>'
        yield "namespaces", f"namespace {namespace!r}", outer + node(given, inside)
    for name in corners["names"]:
        xml = f'<node pkg="vms_ph" exec="simulator" name={quoteattr(name)}/>'
        yield "names of nodes", f"name {name!r}", xml
    for option, values in corners["options"].items():
        for value in values:
            attribute = f"{option}={quoteattr(value)}"
            process = f'<executable cmd="/bin/prog a" {attribute}/>'
            yield f"attribute {option}", f"node {attribute}", node(attribute)
            yield f"attribute {option}", f"executable {attribute}", process
    for inside in corners["inside_node"]:
        about = "tags inside a node"
        yield about, f"inside node {inside}", VARIABLES + node(inside=inside)
        yield about, f"inside /n/sim {inside}", VARIABLES + node('namespace="n"', inside)
    for command in corners["commands"]:
        for on_stderr in ("", " fail", " ignore", " warn", " capture", " bad"):
            message = quoteattr(f'$(command "{command}"{on_stderr})')
            about = f"output of a command, on stderr:{on_stderr or ' unsaid'}"
            yield about, f"command {command!r}{on_stderr}", f"<log message={message}/>"
    for tags in corners["tags"]:
        yield "tags", tags, tags
    for tags in corners["scopes"]:
        yield "scopes", tags, tags
    for subject in ("arguments", "includes"):
        for case in corners[subject]:
            yield subject, case["xml"], case["xml"], *case["give"]
