# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments after --ros-args: remapping, parameters, log levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rclpy.exceptions import RCLError
from rclpy.logging import get_logging_severity_from_string

from vms_ph_dynamics import VmsPhError
from vms_ph_embedded import ros_names, subset
from vms_ph_io.settings.bounded_text import BoundedLoader, YamlError, parse_yaml, read_text

_UNSUPPORTED_FLAGS = {
    *("--log-config-file", "--log-file-name"),
    *(
        f"--{verb}-{kind}-logs"
        for verb in ("enable", "disable")
        for kind in ("stdout", "external-lib")
    ),
}


@dataclass
class RemapRule:
    """``[node:][rostopic://|rosservice://]from:=to``."""

    kind: str  # topic, service, any (topic or service), __node or __ns
    node: str | None
    match: str
    replacement: str


@dataclass
class Arguments:
    """The ROS arguments of a process or of a node, and the arguments that are not for ROS."""

    non_ros_args: list[str] = field(default_factory=list)
    remap_rules: list[RemapRule] = field(default_factory=list)
    # node pattern -> parameter -> value; patterns apply in the order in which they first appear
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    log_levels: list[tuple[str, int]] = field(default_factory=list)
    enable_rosout: bool = True


def parse(args: Sequence[str]) -> Arguments:
    """Sort a command line; ROS arguments stand between --ros-args and --."""
    arguments = Arguments()
    words = iter(args)
    for word in words:
        if word == "--ros-args":
            _parse_ros(words, arguments)
        else:
            arguments.non_ros_args.append(word)
    return arguments


def remap_name(
    kind: str, name: str, node_name: str, namespace: str, arguments: Sequence[Arguments]
) -> str:
    """An absolute topic or service name after the first rule that matches it."""
    for rule in (rule for source in arguments for rule in source.remap_rules):
        applies = rule.kind in (kind, "any") and rule.node in (None, node_name)
        if applies and ros_names.expand(rule.match, node_name, namespace) == name:
            return ros_names.expand(rule.replacement, node_name, namespace)
    return name


def remap_node(kind: str, node_name: str, arguments: Sequence[Arguments]) -> str | None:
    """The node name or namespace that a ``__node`` or ``__ns`` rule gives to a node."""
    for rule in (rule for source in arguments for rule in source.remap_rules):
        if rule.kind == kind and rule.node in (None, node_name):
            return rule.replacement
    return None


def parameters_of(full_node_name: str, arguments: Sequence[Arguments]) -> dict[str, Any]:
    """The parameter values that command lines and files give to a node."""
    node_parameters: dict[str, Any] = {}
    for source in arguments:
        for pattern, parameters in source.parameters.items():
            if _matches_node(pattern, full_node_name):
                node_parameters.update(parameters)
    return node_parameters


def _matches_node(pattern: str, full_node_name: str) -> bool:
    """Whether a node is meant: /* is one name, /** any number of names."""
    absolute = pattern if pattern.startswith("/") else f"/{pattern}"
    collapsed = re.sub(r"(/\*\*)+", "/**", absolute)  # repeats would match in many ways
    regex = re.escape(collapsed).replace(r"/\*", r"(/\w+)").replace(r"(/\w+)\*", r"(/\w+)*")
    return re.fullmatch(regex, full_node_name, re.ASCII) is not None


def parse_value(text: str) -> Any:
    """The value of a parameter given as YAML."""
    try:
        return parse_yaml(text, _ParameterLoader)
    except YamlError as error:
        raise RCLError(f"Failed to parse ROS arguments: {text!r} is not YAML ({error})") from error


def _parse_ros(words: Iterator[str], arguments: Arguments) -> None:
    unknown_arguments = []
    for word in words:
        if word == "--":
            break
        if word == "--ros-args":
            continue
        if word in ("-r", "--remap"):
            arguments.remap_rules.append(_remap_rule(_next_word(words, word)))
        elif word in ("-p", "--param"):
            node, name, value = _parameter(_next_word(words, word))
            arguments.parameters.setdefault(node, {})[name] = value
        elif word == "--params-file":
            for node, parameters in _parameter_file(_next_word(words, word)).items():
                arguments.parameters.setdefault(node, {}).update(parameters)
        elif word == "--log-level":
            arguments.log_levels.append(_log_level(_next_word(words, word)))
        elif word in ("-e", "--enclave"):
            _next_word(words, word)  # there is no security here for an enclave to name
        elif word in ("--enable-rosout-logs", "--disable-rosout-logs"):
            arguments.enable_rosout = word.startswith("--enable")
        elif word in _UNSUPPORTED_FLAGS:
            subset.refuse(f"the ROS argument {word}")
        else:
            unknown_arguments.append(word)
    if unknown_arguments:
        raise RCLError(f"Found unknown ROS arguments: {unknown_arguments}")


def _next_word(words: Iterator[str], flag: str) -> str:
    word = next(words, None)
    if word is None:
        raise RCLError(f"Failed to parse ROS arguments: nothing follows the flag {flag}")
    return word


def _remap_rule(text: str) -> RemapRule:
    rule = re.fullmatch(
        r"(?:(?P<node>\w+):(?!=|//))?(?:(?P<url>rostopic|rosservice)://)?"
        r"(?P<match>[^:]+):=(?P<to>.+)",
        text,
    )
    if rule is None:
        raise RCLError(
            f"Failed to parse ROS arguments: Couldn't parse remap rule: '-r {text}'; "
            "it should read [node:]from:=to"
        )
    node, url, match, replacement = rule.group("node", "url", "match", "to")
    if match == "__ns":
        kind, fault = "__ns", ros_names.fault_in_namespace(replacement)
    elif match in ("__node", "__name"):
        kind, fault = "__node", ros_names.fault_in_node_name(replacement)
    else:
        kind = {"rostopic": "topic", "rosservice": "service"}.get(url, "any")
        fault = ros_names.fault_in_topic_name(match) or ros_names.fault_in_topic_name(replacement)
    if fault is not None:
        raise RCLError(
            f"Failed to parse ROS arguments: Couldn't parse remap rule: '-r {text}'; {fault[0]}"
        )
    return RemapRule(kind, node, match, replacement)


def _parameter(text: str) -> tuple[str, str, Any]:
    target, assignment, value = text.partition(":=")
    node, colon, name = target.rpartition(":")
    if not assignment or not name or (colon and not node):
        raise RCLError(
            f"Failed to parse ROS arguments: Couldn't parse parameter override rule: '-p {text}'; "
            "it should read [node:]name:=value"
        )
    return node or "/**", name, _checked_value(parse_value(value), text)


def _log_level(text: str) -> tuple[str, int]:
    name, assignment, level = text.rpartition(":=")
    try:
        return name if assignment else "", get_logging_severity_from_string(level)
    except RuntimeError as error:
        raise RCLError(
            f"Failed to parse ROS arguments: Couldn't parse log level rule: "
            f"'--log-level {text}'; {error}"
        ) from error


def _parameter_file(path: str) -> dict[str, dict[str, Any]]:
    try:
        tree = parse_yaml(read_text(path), _ParameterLoader)
    except VmsPhError as error:
        raise RCLError(f"Failed to parse ROS arguments: params file {path!r}: {error}") from error
    nodes: dict[str, dict[str, Any]] = {}
    _find_nodes(tree, (), nodes, path)
    return nodes


def _find_nodes(tree: Any, parents: tuple[str, ...], nodes: dict[str, Any], path: str) -> None:
    if not isinstance(tree, dict):
        raise RCLError(
            f"Failed to parse ROS arguments: params file {path!r} should read "
            f"node: {{ros__parameters: {{name: value}}}}, but {'/'.join(parents) or 'it'} "
            f"holds {tree!r}"
        )
    for key, subtree in tree.items():
        if key == "ros__parameters":
            node = re.sub("/+", "/", "/".join(parents))
            node_parameters = nodes.setdefault(node, {})
            node_parameters.update(_flatten(subtree, "", path))
        else:
            _find_nodes(subtree, (*parents, str(key)), nodes, path)


def _flatten(tree: Any, prefix: str, path: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if not isinstance(tree or {}, dict):
        raise RCLError(
            f"Failed to parse ROS arguments: params file {path!r}: "
            f"{prefix or 'ros__parameters'} should hold parameters by name, but holds {tree!r}"
        )
    for key, value in (tree or {}).items():
        if isinstance(value, dict):
            values.update(_flatten(value, f"{prefix}{key}.", path))
        else:
            values[f"{prefix}{key}"] = _checked_value(value, f"{prefix}{key} in {path}")
    return values


def _checked_value(value: Any, label: str) -> Any:
    scalar_types = (bool, int, float, str)
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, int) and not -(2**63) <= item < 2**63:
            raise RCLError(
                f"Failed to parse ROS arguments: {label!r}: an integer has at most 64 bits; "
                "write it with a decimal point if it is a float"
            )
    if isinstance(value, list):
        types = {type(item) for item in value}
        if len(types) > 1 or not types <= set(scalar_types):
            raise RCLError(
                f"Failed to parse ROS arguments: {label!r}: the elements of a list should be of "
                "one type, bool, int, float or str"
            )
    elif not isinstance(value, scalar_types):
        raise RCLError(f"Failed to parse ROS arguments: {label!r}: {value!r} is no parameter value")
    return value


class _ParameterLoader(BoundedLoader):
    """Reads 1e-3 as a number, which YAML 1.1 does not, and a date as text."""


_ParameterLoader.yaml_implicit_resolvers = {
    first_character: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith(":timestamp")]
    for first_character, resolvers in BoundedLoader.yaml_implicit_resolvers.items()
}
_ParameterLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)
