# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The tags that run something: node and executable."""

import os
from collections.abc import Iterator, Sequence

import yaml

from vms_ph_embedded import ros_names
from vms_ph_embedded.launch import values
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.description import NodeIdentity, ProcessDescription, YamlFile
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError, Location
from vms_ph_embedded.launch.output import ROUTES
from vms_ph_embedded.launch.schema import literal_value, one_of
from vms_ph_embedded.launch.substitutions import attribute, evaluate, words

NAMESPACE = "ros_namespace"
"""The variable that holds the namespace pushed so far; files can read it, as in ``ros2 launch``."""

_UNKNOWN_NODE = "/**"
_SETTINGS = ("respawn_delay", "respawn_max_retries", "sigterm_timeout", "sigkill_timeout")


def run_executable(element: Element, context: Context) -> None:
    """Start any program."""
    command = words(element, "cmd", context)
    if not command[0]:
        raise LaunchError("cmd is empty; give a program", element.location)
    name = attribute(element, "name", context, None)
    context.steps.append(_describe(element, context, command, command[0], name=name))


def run_node(element: Element, context: Context) -> None:
    """Start a program with a ROS node in it."""
    node = _node_identity(element, context)
    command: list[str | YamlFile] = list(_program_command(node, element, context))
    command += words(element, "args", context)
    if "ros_args" in element.attributes:
        command += ["--ros-args", *words(element, "ros_args", context)]
    command.append("--ros-args")
    if node.name is not None:
        command += ["-r", f"__node:={node.name}"]
    if node.namespace is not None:
        command += ["-r", f"__ns:={node.namespace}"]
    for parameter, value in context.parameters:
        command += ["-p", f"{parameter}:={value}"]
    for file in _parameter_files(node, element, context):
        command += ["--params-file", file]
    for remap in element.inside("remap"):
        source, new_name = attribute(remap, "from", context), attribute(remap, "to", context)
        command += ["-r", f"{source}:={new_name}"]
    context.steps.append(_describe(element, context, command, node.executable, node=node))
    if node.full_name in context.node_names:
        context.warnings.append(f"{element.location}: a second node is named {node.full_name}")
    if node.full_name != _UNKNOWN_NODE:
        context.node_names.add(node.full_name)


def _describe(
    element: Element,
    context: Context,
    command: Sequence[str | YamlFile],
    program: str,
    name: str | None = None,
    node: NodeIdentity | None = None,
) -> ProcessDescription:
    prefix = words(element, "launch-prefix", context)
    name = name or os.path.basename(prefix[0] if prefix else program)
    environment = dict(context.environment)
    for variable in element.inside("env"):
        environment[attribute(variable, "name", context)] = attribute(variable, "value", context)
    context.process_count += 1
    literals = {
        name: literal_value(element, name) for name in _SETTINGS if name in element.attributes
    }
    output = attribute(element, "output", context, "log")
    one_of(output, ROUTES, "output", element.location)
    one_of(literal_value(element, "on_exit"), {"shutdown": True}, "on_exit", element.location)
    return ProcessDescription(
        name=f"{name}-{context.process_count}",
        command=(*prefix, *command),
        environment=environment,
        output=output,
        respawn=_boolean_attribute(element, "respawn", context),
        shutdown_on_exit=literal_value(element, "on_exit") is not None,
        node=node,
        **literals,
    )


def _boolean_attribute(element: Element, name: str, context: Context) -> bool:
    try:
        return bool(values.coerce(attribute(element, name, context, "false"), values.Kind.BOOL))
    except ValueError as error:
        raise LaunchError(f"{name}: {error}", element.location) from None


def _node_identity(element: Element, context: Context) -> NodeIdentity:
    name = attribute(element, "name", context, None)
    if name is not None and (fault := ros_names.fault_in_node_name(name)):
        raise LaunchError(f"node name {name!r} is not valid: {fault[0]}", element.location)
    pushed = context.configurations.get(NAMESPACE)
    namespace = join(pushed, attribute(element, "namespace", context, None), element.location)
    package = attribute(element, "pkg", context, None)
    return NodeIdentity(package, attribute(element, "exec", context), name, namespace)


def join(outer_namespace: str | None, namespace: str | None, location: Location) -> str | None:
    """A namespace inside another one, absolute; an absolute one stands for itself.

    Args:
        outer_namespace: The namespace pushed so far, None when none was.
        namespace: What is added, None when nothing is.
        location: Of the tag.

    Returns:
        The absolute namespace; None when there is none at all.

    Raises:
        LaunchError: ROS would refuse it.
    """
    if outer_namespace is None and namespace is None:
        return None
    if namespace is None or (outer_namespace and not namespace.startswith("/")):
        namespace = f"{(outer_namespace or '').rstrip('/')}/{namespace or ''}"
    absolute = "/" + namespace.removeprefix("/")
    if absolute != "/":
        absolute = absolute.rstrip("/")
    if fault := ros_names.fault_in_namespace(absolute):
        raise LaunchError(f"namespace {absolute!r} is not valid: {fault[0]}", location)
    return absolute


def _program_command(node: NodeIdentity, element: Element, context: Context) -> list[str]:
    if node.package is None:
        return [node.executable]
    try:
        return list(context.resolve(node.package, node.executable))
    except LookupError as error:
        raise LaunchError(str(error.args[0]), element.location) from None


def _parameter_files(
    node: NodeIdentity, element: Element, context: Context
) -> Iterator[str | YamlFile]:
    """Neighbouring values go into one file; their order with files is kept."""
    pending_values: dict[str, values.Value] = {}
    for param in element.inside("param"):
        if "from" in param.attributes:
            if pending_values:
                yield _parameter_file(node.full_name, pending_values)
                pending_values = {}
            yield _existing_file(param, context)
        else:
            pending_values[attribute(param, "name", context)] = _parameter_value(param, context)
    if pending_values:
        yield _parameter_file(node.full_name, pending_values)


def _existing_file(param: Element, context: Context) -> str:
    if len(param.attributes) > 1:
        raise LaunchError("<param from=...> takes no other attribute", param.location)
    path = attribute(param, "from", context)
    if not os.path.isfile(path):  # False, too, for a path that no file can have
        raise LaunchError(f"there is no parameter file {path}", param.location)
    return path


def _parameter_value(param: Element, context: Context) -> values.Value:
    if not {"name", "value"} <= set(param.attributes):
        raise LaunchError(
            "<param> needs either 'name' and 'value' or 'from' (a file)", param.location
        )
    kind = one_of(literal_value(param, "type"), values.KINDS, "type", param.location)
    try:
        return values.parameter(
            param.attributes["value"], kind, lambda text: evaluate(text, context, param.location)
        )
    except ValueError as error:
        raise LaunchError(str(error), param.location) from None


class _QuotingDumper(yaml.SafeDumper):
    """Writes text with quotes, always: "1", "y" and "1e3" must not come back as numbers."""


_QuotingDumper.add_representer(
    str, lambda dumper, data: dumper.represent_scalar("tag:yaml.org,2002:str", data, style='"')
)


def _parameter_file(node_name: str, parameters: dict[str, values.Value]) -> YamlFile:
    """Parameters as a file for ``--params-file``, for a node or, if it has no name, for any."""
    content = {node_name: {"ros__parameters": parameters}}
    return YamlFile(yaml.dump(content, Dumper=_QuotingDumper, sort_keys=False, width=10_000))
