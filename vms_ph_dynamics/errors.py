# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The errors of the project; messages state what was given, what is accepted and what to do."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint at the one of the accepted names that is most like a name, or an empty text."""
    accepted = {own.lower(): own for own in names if own != name}
    close = get_close_matches(name[:100].lower(), accepted, n=1)
    return f" (did you mean '{accepted[close[0]]}'?)" if close else ""


def missing_attribute(owner: object, name: str, names: Mapping[str, str]) -> AttributeError:
    """Return the error of a missing attribute; it suggests our name for one of another library.

    An error inside a property of the object is returned as it is.

    Args:
        owner: the object.
        name: of the attribute.
        names: our names, by those of other libraries.
    """
    if hasattr(type(owner), name):
        try:
            object.__getattribute__(owner, name)
        except AttributeError as error:
            return error
    kind = type(owner).__name__
    hint = f"; use {names[name]}" if name in names else ""
    return AttributeError(f"'{kind}' object has no attribute '{name}'{hint}", name=name, obj=owner)


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
