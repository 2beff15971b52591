# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The errors of the project; messages state what was given, what is accepted and what to do."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

Target = TypeVar("Target", bound=Callable[..., Any])


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint at the one of the accepted names that is most like a name, or an empty text."""
    names_by_lowercase = {entry.lower(): entry for entry in names if entry != name}
    matches = get_close_matches(name[:100].lower(), names_by_lowercase, n=1)
    return f" (did you mean '{names_by_lowercase[matches[0]]}'?)" if matches else ""


def hint_for(name: str, hints: Mapping[str, str]) -> str:
    """Return the remedy for a name that other libraries use, or an empty text.

    Args:
        name: the name.
        hints: names of other libraries, separated by blanks, by the remedy.
    """
    return next((remedy for remedy, names in hints.items() if name in names.split()), "")


def missing_name(
    module: str, name: str, names: Iterable[str], hints: Mapping[str, str]
) -> Exception:
    """Return the error of a name that a module lacks.

    It is an ImportError where there is a hint, because ``from module import name`` drops the text
    of any other one.

    Args:
        module: name of the module.
        name: the name.
        names: names that it has.
        hints: names of other packages for its own, see :func:`hint_for`.
    """
    if hint := hint_for(name, hints):
        return ImportError(f"{module} has no '{name}'; use {hint}")
    accepted = ", ".join(entry for entry in names if not entry.startswith("_"))
    return AttributeError(
        f"module '{module}' has no attribute '{name}'{did_you_mean(name, names)}; it has {accepted}"
    )


def missing_attribute(owner: object, name: str, hints: Mapping[str, str]) -> AttributeError:
    """Return the error of a missing attribute; it suggests our name for one of another library.

    An error inside a property of the object is returned as it is.

    Args:
        owner: the object.
        name: of the attribute.
        hints: names of other packages for its own, see :func:`hint_for`.
    """
    if hasattr(type(owner), name):
        try:
            object.__getattribute__(owner, name)
        except AttributeError as error:
            return error
    message = f"'{type(owner).__name__}' object has no attribute '{name}'"
    if hint := hint_for(name, hints):
        message += f"; use {hint}"
    elif not name.startswith("_"):
        names = [entry for entry in dir(owner) if entry != "HINTS" and not entry.startswith("_")]
        message += f"{did_you_mean(name, names)}; it has {', '.join(names)}"
    return AttributeError(message, name=name, obj=owner)


class WithHints:
    """An object whose missing attributes are answered by what is meant.

    Attributes:
        HINTS: names of other packages for its own, see :func:`hint_for`.
    """

    HINTS: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # mypy reports wrong names itself

        def __getattr__(self, name: str) -> Any:
            """Say what is used in place of a name."""
            raise missing_attribute(self, name, self.HINTS)


class VmsPhError(Exception):
    """Base of all errors that this project raises for invalid input."""


class ModelError(VmsPhError, ValueError):
    """A robot description that is not physical, or that the theory does not cover."""


class StateError(VmsPhError, ValueError):
    """A state, force or matrix of the wrong shape, or with entries that are not finite."""


class OptionError(VmsPhError, ValueError):
    """An option or name that does not exist; the message lists those that do."""


class MissingExtraError(VmsPhError, ImportError):
    """A package of an optional extra is not installed; the message says how to install it."""


class InertiaWarning(UserWarning):
    """A robot has inertias that were repaired; the message says which, and what that changes."""


def check_arguments(hints: Mapping[str, str]) -> Callable[[Target], Target]:
    """Return a decorator by which a function or class says what is meant by a wrong argument.

    Args:
        hints: names of other packages for its own, see :func:`hint_for`.
    """

    def decorate(target: Target) -> Target:
        function: Any = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
        parameters = signature(target).parameters

        @wraps(function)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            try:
                return function(*arguments, **keywords)
            except TypeError:
                for name in keywords.keys() - parameters.keys():
                    remedy, names = hint_for(name, hints), ", ".join(parameters)
                    suggestion = f"{did_you_mean(name, parameters)}; its arguments are {names}"
                    hint = f"; use {remedy}" if remedy else suggestion
                    message = f"{target.__qualname__}() has no argument '{name}'{hint}"
                    raise OptionError(message) from None
                raise

        if not isinstance(target, type):
            return checked  # type: ignore[return-value]
        target.__init__ = checked  # type: ignore[misc]
        return target

    return decorate
