# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tags that contain other tags: group and include, and the launch file itself."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vms_ph_embedded.launch import document, schema, values
from vms_ph_embedded.launch.actions.base import Action, Condition
from vms_ph_embedded.launch.actions.processes import Executable, Node
from vms_ph_embedded.launch.actions.rules import PushNamespace, SetParameter, SetRemap
from vms_ph_embedded.launch.actions.variables import (
    Argument,
    Let,
    LogMessage,
    SetEnvironment,
    UnsetEnvironment,
)
from vms_ph_embedded.launch.attributes import Text, literal, required
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.description import DeclaredArgument
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError, Location


@dataclass(frozen=True, slots=True)
class LaunchFile:
    """A parsed and checked launch file, not yet executed."""

    file: Path
    deprecated: str | None
    actions: tuple[Action, ...]

    @classmethod
    def read(cls, file: Path) -> "LaunchFile":
        """Read and check a file.

        Raises:
            LaunchError: It is missing, is no XML, or holds something outside the subset.
        """
        file = Path(os.path.abspath(file))
        root = document.read(file)
        schema.check(root)
        return cls(file, root.text("deprecated"), _actions(root))

    def run(self, context: Context, location: Location | None = None) -> None:
        """Carry the file out; its arguments are variables of the context already.

        Args:
            context: The current state.
            location: The ``<include>`` that asks for it; None for the outermost file.

        Raises:
            LaunchError: An action fails.
        """
        context.arguments.extend(self.declared())
        with context.inside(self.file, location):
            if self.deprecated:
                context.warnings.append(f"{self.file} is deprecated: {self.deprecated}")
            for action in self.actions:
                action.run(context)

    def missing(
        self, argument_names: set[str], bare_context: Context
    ) -> Iterator[DeclaredArgument]:
        """The arguments that ``ros2 launch`` demands before it carries out anything.

        That a variable of the name is set already is not enough there. Files to be included count
        too, whatever their condition, if their path depends on no variable.

        Args:
            argument_names: Names of the arguments handed over.
            bare_context: A context without any variables.
        """
        for argument, conditional in _arguments(self.actions):
            if argument.default is None and not conditional and argument.name not in argument_names:
                yield argument.declaration(conditional)
        for include in _includes(self.actions):
            included = include.read_without_variables(bare_context)
            if included is not None:
                with bare_context.inside(self.file, None):
                    yield from included.missing(
                        argument_names | include.names(bare_context), bare_context
                    )

    def declared(self) -> tuple[DeclaredArgument, ...]:
        """The arguments of this file, includes left aside; the first of a name counts."""
        by_name: dict[str, DeclaredArgument] = {}
        for argument, conditional in _arguments(self.actions):
            by_name.setdefault(argument.name, argument.declaration(conditional))
        return tuple(by_name.values())

    def with_includes(self, bare_context: Context) -> Iterator["LaunchFile"]:
        """This file and those it includes, as far as their paths depend on no variable."""
        yield self
        for include in _includes(self.actions):
            included = include.read_without_variables(bare_context)
            if included is not None:
                with bare_context.inside(self.file, None):
                    yield from included.with_includes(bare_context)


@dataclass(frozen=True, slots=True)
class Group(Action):
    """``<group>``: a scope, whose settings end with the group, unless scoped="false"."""

    scoped: bool
    actions: tuple[Action, ...]

    @classmethod
    def read(cls, element: Element) -> "Group":
        """Read the tag and what stands inside."""
        scoped = literal(element, "scoped", values.BOOL)
        condition = Condition.read(element)
        return cls(element.location, condition, scoped is not False, _actions(element))

    def _execute(self, context: Context) -> None:
        if not self.scoped:
            self._execute_inside(context)
            return
        with context.scope():
            self._execute_inside(context)

    def _execute_inside(self, context: Context) -> None:
        for action in self.actions:
            action.run(context)


@dataclass(frozen=True, slots=True)
class Include(Action):
    """``<include>``: carries out another file here, in the same scope."""

    file: Text
    arguments: tuple[tuple[Text, Text], ...]

    @classmethod
    def read(cls, element: Element) -> "Include":
        """Read the tag."""
        file = required(element, "file")
        arguments = tuple(
            (required(a, "name"), required(a, "value")) for a in element.inside("arg")
        )
        return cls(element.location, Condition.read(element), file, arguments)

    def read_file(self, context: Context) -> LaunchFile:
        """The file to be included.

        Raises:
            LaunchError: It is missing, or no launch file.
        """
        file = Path(self.file.evaluate(context))
        context.effort.read_file(self.file.location)
        if file.suffix in (".py", ".yaml", ".yml"):
            raise LaunchError(
                f"{file} is not XML; only *.launch.xml files can be included", self.file.location
            )
        try:
            return LaunchFile.read(file)
        except LaunchError as error:
            if error.location is None:  # the file is missing: the error refers to the including tag
                raise LaunchError(str(error), self.file.location) from None
            raise

    def read_without_variables(self, bare_context: Context) -> LaunchFile | None:
        """The file to be included; None when its path depends on a variable, or is circular."""
        try:
            included = self.read_file(bare_context)
        except LaunchError:
            return None
        return None if included.file in bare_context.files else included

    def names(self, context: Context) -> set[str]:
        """Names of the arguments that are handed over."""
        return {name.evaluate(context) for name, _ in self.arguments}

    def _execute(self, context: Context) -> None:
        launch_file = self.read_file(context)
        context.file_for_ros = launch_file.file
        for argument in launch_file.missing(self.names(context), context.without_variables()):
            raise LaunchError(
                f"{launch_file.file.name} needs its argument {argument.name!r}; hand it over with "
                f'<arg name="{argument.name}" value="..."/>',
                self.location,
            )
        for name, value in self.arguments:
            context.configurations[name.evaluate(context)] = value.evaluate(context)
        launch_file.run(context, self.location)


_ACTIONS = {
    "arg": Argument.read,
    "let": Let.read,
    "node": Node.read,
    "executable": Executable.read,
    "group": Group.read,
    "include": Include.read,
    "push_ros_namespace": PushNamespace.read,
    "push-ros-namespace": PushNamespace.read,
    "set_remap": SetRemap.read,
    "set_parameter": SetParameter.read,
    "set_env": SetEnvironment.read,
    "unset_env": UnsetEnvironment.read,
    "log": LogMessage.read,
}
assert _ACTIONS.keys() == schema.ACTIONS.keys()


def _actions(element: Element) -> tuple[Action, ...]:
    return tuple(_ACTIONS[child.tag](child) for child in element.children)


def _arguments(
    actions: tuple[Action, ...], *, conditional: bool = False
) -> Iterator[tuple[Argument, bool]]:
    """Arguments, and whether ``ros2 launch`` takes them for conditional.

    There, only the condition of the group directly around counts.
    """
    for action in actions:
        if isinstance(action, Argument):
            yield action, conditional or action.condition is not None
        elif isinstance(action, Group):
            yield from _arguments(action.actions, conditional=action.condition is not None)


def _includes(actions: tuple[Action, ...]) -> Iterator[Include]:
    for action in actions:
        if isinstance(action, Include):
            yield action
        elif isinstance(action, Group):
            yield from _includes(action.actions)
