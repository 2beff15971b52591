# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Typed access to the attributes of one tag, as the actions need them."""

from collections.abc import Iterable
from dataclasses import dataclass

from vms_ph_embedded.launch import grammar, values
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError, Location
from vms_ph_embedded.launch.substitutions import check_calls, text


@dataclass(frozen=True, slots=True)
class Text:
    """An attribute in which substitutions are carried out."""

    template: grammar.Template
    location: Location

    @classmethod
    def of(cls, attribute_text: str, location: Location) -> "Text":
        """Read the text of an attribute, and refuse substitutions that are not accepted.

        Raises:
            LaunchError: The text breaks the grammar, or uses an unknown substitution.
        """
        template = grammar.parse(attribute_text, location)
        check_calls(template, location)
        return cls(template, location)

    def evaluate(self, context: Context) -> str:
        """The text with its substitutions carried out."""
        return text(self.template, context, self.location)


def required(element: Element, name: str) -> Text:
    """An attribute that the schema demands."""
    return Text.of(element.attributes[name].text, element.at(name))


def optional(element: Element, name: str) -> Text | None:
    """An attribute that may be missing."""
    return required(element, name) if name in element.attributes else None


def literal(element: Element, name: str, kind: values.Kind) -> values.Scalar | None:
    """An attribute in which ``ros2 launch`` carries out no substitutions.

    Raises:
        LaunchError: It is not of the kind.
    """
    attribute_text = element.text(name)
    if attribute_text is None:
        return None
    try:
        value = values.coerce(attribute_text, kind)
    except ValueError as error:
        hint = "; substitutions are not carried out here" if "$(" in attribute_text else ""
        raise LaunchError(f"{name}: {error}{hint}", element.at(name)) from None
    assert not isinstance(value, list)
    return value


def one_of(choice: str, accepted: Iterable[str], attribute: str, location: Location) -> str:
    """Refuse a word that is not in a list.

    Raises:
        LaunchError: With the list.
    """
    words = list(accepted)
    if choice in words:
        return choice
    raise LaunchError(f"{attribute} is {choice!r}; accepted are {', '.join(words)}", location)
