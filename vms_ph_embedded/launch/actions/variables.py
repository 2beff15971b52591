# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tags that set variables: arg, let, set_env, unset_env; and log, which shows them."""

from dataclasses import dataclass

from vms_ph_embedded.launch import grammar
from vms_ph_embedded.launch.actions.base import Action, Condition
from vms_ph_embedded.launch.attributes import Text, optional
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.description import DeclaredArgument, Log
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError


@dataclass(frozen=True, slots=True)
class Argument(Action):
    """``<arg>``: a variable that the user, or the including file, may set."""

    name: str
    default: Text | None
    default_as_written: str | None
    description: str
    choices: tuple[str, ...]

    @classmethod
    def read(cls, element: Element) -> "Argument":
        """Read the tag."""
        return cls(
            element.location,
            Condition.read(element),
            grammar.unescape(element.attributes["name"].text),
            optional(element, "default"),
            element.text("default"),
            grammar.unescape(element.text("description") or ""),
            tuple(grammar.unescape(c.attributes["value"].text) for c in element.inside("choice")),
        )

    def declaration(self, conditional: bool) -> DeclaredArgument:
        """The description for the user."""
        return DeclaredArgument(
            self.name, self.description, self.default_as_written, self.choices, conditional
        )

    def _execute(self, context: Context) -> None:
        if self.name not in context.configurations:
            if self.default is None:
                raise LaunchError(
                    f"argument {self.name!r} ({self.description or 'no description'}) has no "
                    f"default and was not given; give it as {self.name}:=value",
                    self.location,
                )
            context.configurations[self.name] = self.default.evaluate(context)
        value = context.configurations[self.name]
        if self.choices and value not in self.choices:
            raise LaunchError(
                f"argument {self.name!r} is {value!r}; accepted are {', '.join(self.choices)}",
                self.location,
            )


@dataclass(frozen=True, slots=True)
class _Assignment(Action):
    name: Text
    value: Text


@dataclass(frozen=True, slots=True)
class Let(_Assignment):
    """``<let>``: a variable."""

    ATTRIBUTES = ("name", "value")

    def _execute(self, context: Context) -> None:
        context.configurations[self.name.evaluate(context)] = self.value.evaluate(context)


@dataclass(frozen=True, slots=True)
class SetEnvironment(_Assignment):
    """``<set_env>``: an environment variable of the processes that follow."""

    ATTRIBUTES = ("name", "value")

    def _execute(self, context: Context) -> None:
        context.environment[self.name.evaluate(context)] = self.value.evaluate(context)


@dataclass(frozen=True, slots=True)
class UnsetEnvironment(Action):
    """``<unset_env>``: removes an environment variable."""

    ATTRIBUTES = ("name",)

    name: Text

    def _execute(self, context: Context) -> None:
        context.environment.pop(self.name.evaluate(context), None)


@dataclass(frozen=True, slots=True)
class LogMessage(Action):
    """``<log>``: a line for the user."""

    ATTRIBUTES = ("message",)

    message: Text

    def _execute(self, context: Context) -> None:
        context.steps.append(Log(self.message.evaluate(context)))
