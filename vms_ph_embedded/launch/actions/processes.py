# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tags that run something: node and executable."""

import math
import os
import re
import shlex
from dataclasses import dataclass, field

from vms_ph_embedded.launch import command_line, names, values
from vms_ph_embedded.launch.actions import parameters
from vms_ph_embedded.launch.actions.base import Action, Condition
from vms_ph_embedded.launch.actions.rules import NAMESPACE
from vms_ph_embedded.launch.attributes import Text, literal, one_of, optional, required
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.description import NodeIdentity, ProcessDescription, YamlFile
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError, Location

_OUTPUTS = ("screen", "log", "both", "own_log", "full")
_UNKNOWN_NODE = "/**"


@dataclass(frozen=True, slots=True)
class _Options:
    """The attributes that node and executable have in common."""

    location: Location
    working_directory: Text | None
    output: Text | None
    respawn: Text | None
    respawn_delay: float
    respawn_max_retries: int
    shutdown_on_exit: bool
    prefix: Text | None
    sigterm_timeout: float | None
    sigkill_timeout: float | None
    variables: tuple[tuple[Text, Text], ...]
    shell: bool = field(default=False)

    @classmethod
    def read(cls, element: Element) -> "_Options":
        retries = literal(element, "respawn_max_retries", values.INT)
        on_exit = element.text("on_exit")
        if on_exit is not None:
            one_of(on_exit, ["shutdown"], "on_exit", element.at("on_exit"))
        return cls(
            element.location,
            optional(element, "cwd"),
            optional(element, "output"),
            optional(element, "respawn"),
            _seconds(element, "respawn_delay") or 0.0,
            -1 if retries is None else int(retries),
            on_exit is not None,
            optional(element, "launch-prefix"),
            _seconds(element, "sigterm_timeout"),
            _seconds(element, "sigkill_timeout"),
            tuple((required(e, "name"), required(e, "value")) for e in element.inside("env")),
            literal(element, "shell", values.BOOL) is True,
        )

    def describe(
        self,
        context: Context,
        command: list[str | YamlFile],
        name: str | None,
        node: NodeIdentity | None = None,
        program: str | None = None,
    ) -> ProcessDescription:
        """The process, with its substitutions carried out in the order of ``ros2 launch``."""
        prefix = self._prefix(context, program or str(command[0]))
        command = [*prefix, *command]
        name = name or os.path.basename(prefix[0] if prefix else program or str(command[0]))
        directory = self.working_directory.evaluate(context) if self.working_directory else None
        environment = dict(context.environment)
        for variable, value in self.variables:
            environment[variable.evaluate(context)] = value.evaluate(context)
        return ProcessDescription(
            name=context.next_name(name),
            command=tuple(command),
            environment=environment,
            working_directory=directory,
            shell=self.shell,
            output=self._output(context),
            respawn=self._respawns(context),
            respawn_delay=self.respawn_delay,
            respawn_max_retries=self.respawn_max_retries,
            shutdown_on_exit=self.shutdown_on_exit,
            sigterm_timeout=self._timeout(self.sigterm_timeout, "sigterm_timeout", context),
            sigkill_timeout=self._timeout(self.sigkill_timeout, "sigkill_timeout", context),
            node=node,
            location=self.location,
        )

    def _prefix(self, context: Context, program: str) -> list[str]:
        try:
            if self.prefix is not None:
                return shlex.split(self.prefix.evaluate(context))
            # The user may give both as arguments of the launch, without the file declaring them.
            pattern = context.configurations.get("launch-prefix-filter", "")
            command_prefix = context.configurations.get("launch-prefix", "")
            return (
                shlex.split(command_prefix) if re.match(pattern, os.path.basename(program)) else []
            )
        except (ValueError, re.error) as error:
            raise LaunchError(f"launch-prefix: {error}", self.location) from None

    def _output(self, context: Context) -> str:
        output = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT")
        if output is None:
            output = self.output.evaluate(context) if self.output else "log"
        return one_of(output, _OUTPUTS, "output", self.location)

    def _respawns(self, context: Context) -> bool:
        if self.respawn is None:
            return False
        try:
            return values.coerce(self.respawn.evaluate(context), values.BOOL) is True
        except ValueError as error:
            raise LaunchError(f"respawn: {error}", self.respawn.location) from None

    def _timeout(self, timeout: float | None, variable: str, context: Context) -> float:
        if timeout is not None:
            return timeout
        word = context.configurations.get(variable, "5")
        try:
            seconds = float(word)
        except ValueError:
            seconds = math.nan
        if not 0.0 <= seconds < math.inf:
            raise LaunchError(f"{variable} is {word!r}; a number of seconds is accepted")
        return seconds


def _seconds(element: Element, name: str) -> float | None:
    value = literal(element, name, values.FLOAT)
    if value is None:
        return None
    seconds = float(value)
    if not 0.0 <= seconds < math.inf:
        raise LaunchError(f"{name} is {value}; it cannot be negative", element.at(name))
    return seconds


@dataclass(frozen=True, slots=True)
class Executable(Action):
    """``<executable>``: any program."""

    words: tuple[Text, ...]
    name: Text | None
    options: _Options

    @classmethod
    def read(cls, element: Element) -> "Executable":
        """Read the tag."""
        words = command_line.split(required(element, "cmd"))
        options = _Options.read(element)
        name = optional(element, "name")
        return cls(element.location, Condition.read(element), words, name, options)

    def _execute(self, context: Context) -> None:
        command: list[str | YamlFile] = list(command_line.evaluate(self.words, context))
        if not command[0]:
            raise LaunchError("cmd is empty; give a program", self.location)
        name = self.name.evaluate(context) if self.name else None
        context.steps.append(self.options.describe(context, command, name))


@dataclass(frozen=True, slots=True)
class Node(Action):
    """``<node>``: a program with a ROS node in it."""

    package: Text | None
    executable: Text
    name: Text | None
    process_name: Text | None
    namespace: Text | None
    arguments: tuple[Text, ...]
    ros_arguments: tuple[Text, ...]
    parameters: tuple[parameters.ParameterValue | parameters.ParameterFile, ...]
    remaps: tuple[tuple[Text, Text], ...]
    options: _Options

    @classmethod
    def read(cls, element: Element) -> "Node":
        """Read the tag."""
        arguments, ros_arguments = optional(element, "args"), optional(element, "ros_args")
        return cls(
            element.location,
            Condition.read(element),
            optional(element, "pkg"),
            required(element, "exec"),
            optional(element, "name"),
            optional(element, "exec_name"),
            optional(element, "namespace"),
            command_line.split(arguments) if arguments else (),
            command_line.split(ros_arguments) if ros_arguments else (),
            tuple(rule for tag in element.inside("param") for rule in parameters.read(tag)),
            tuple((required(e, "from"), required(e, "to")) for e in element.inside("remap")),
            _Options.read(element),
        )

    def _execute(self, context: Context) -> None:
        node = self._identity(context)
        command: list[str | YamlFile] = list(self._program(node, context))
        command += command_line.evaluate(self.arguments, context)
        if self.ros_arguments:
            command += ["--ros-args", *command_line.evaluate(self.ros_arguments, context)]
        command.append("--ros-args")
        if node.name is not None:
            command += ["-r", f"__node:={node.name}"]
        if node.namespace is not None:
            command += ["-r", f"__ns:={node.namespace}"]
        for parameter, value in context.parameters:
            command += ["-p", f"{parameter}:={value}"]
        for file in self._parameter_files(node, context):
            command += ["--params-file", file]
        node_remaps = [
            (source.evaluate(context), target.evaluate(context)) for source, target in self.remaps
        ]
        for source_name, target_name in (*context.remaps, *node_remaps):
            command += ["-r", f"{source_name}:={target_name}"]
        name = self.process_name.evaluate(context) if self.process_name else None
        program = os.path.basename(node.executable)
        context.steps.append(self.options.describe(context, command, name, node, program))
        self._note(node, context)

    def _identity(self, context: Context) -> NodeIdentity:
        name = self.name.evaluate(context) if self.name else None
        if name is not None and self.name:
            names.check_node_name(name, self.name.location)
        node_namespace = self.namespace.evaluate(context) if self.namespace else None
        namespace = names.join(context.configurations.get(NAMESPACE), node_namespace)
        if namespace is not None:
            names.check_namespace(
                namespace, self.namespace.location if self.namespace else self.location
            )
        package = self.package.evaluate(context) if self.package else None
        return NodeIdentity(package, self.executable.evaluate(context), name, namespace)

    def _program(self, node: NodeIdentity, context: Context) -> list[str]:
        if node.package is None:
            return [node.executable]
        try:
            return list(context.resolve(node.package, node.executable))
        except LookupError as error:
            message = str(error.args[0] if error.args else error)
            raise LaunchError(message, self.location) from None

    def _parameter_files(self, node: NodeIdentity, context: Context) -> list[str | YamlFile]:
        """Neighbouring values go into one file; their order with files is kept."""
        key = _UNKNOWN_NODE
        if node.name is not None and node.namespace is not None:
            key = f"{node.namespace.rstrip('/')}/{node.name}"
        files: list[str | YamlFile] = []
        pending: dict[str, values.Value] = {}
        for rule in self.parameters:
            if isinstance(rule, parameters.ParameterValue):
                name, value = rule.evaluate(context)
                pending[name] = value
                continue
            if pending:
                files.append(parameters.as_file(key, pending))
                pending = {}
            files.append(rule.evaluate(context))
        if pending:
            files.append(parameters.as_file(key, pending))
        return files

    def _note(self, node: NodeIdentity, context: Context) -> None:
        if node.name is None or node.namespace is None:
            return
        full = f"{node.namespace.rstrip('/')}/{node.name}"
        if full in context.nodes:
            context.warnings.append(f"{self.location}: a second node is named {full}")
        context.nodes.add(full)
