# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Base class of all actions, with a location in the file and a condition."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from vms_ph_embedded.launch.attributes import Text, optional, required
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError, Location


@dataclass(frozen=True, slots=True)
class Condition:
    """``if`` or ``unless``."""

    text: Text
    expected: bool

    @classmethod
    def read(cls, element: Element) -> "Condition | None":
        """The condition of a tag, None when it has none."""
        for name, expected in (("if", True), ("unless", False)):
            text = optional(element, name)
            if text is not None:
                return cls(text, expected)
        return None

    def holds(self, context: Context) -> bool:
        """Return whether the condition is met.

        Raises:
            LaunchError: The text comes to neither true nor false.
        """
        condition_text = self.text.evaluate(context)
        word = condition_text.strip().lower()
        if word in ("true", "1"):
            return self.expected
        if word in ("false", "0"):
            return not self.expected
        raise LaunchError(
            f"the condition comes to {condition_text!r}; accepted are true, 1, false, 0",
            self.text.location,
        )


@dataclass(frozen=True, slots=True)
class Action(ABC):
    """A parsed and checked tag, not yet executed.

    ``ATTRIBUTES`` names the required attributes of a tag that has no others, in the order of the
    fields.
    """

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ()

    location: Location
    condition: Condition | None

    @classmethod
    def read(cls, element: Element) -> "Action":
        """Read the tag."""
        texts = (required(element, name) for name in cls.ATTRIBUTES)
        return cls(element.location, Condition.read(element), *texts)

    def run(self, context: Context) -> None:
        """Carry the tag out if its condition holds.

        Raises:
            LaunchError: Something it needs is missing or wrong.
        """
        if self.condition is None or self.condition.holds(context):
            self._execute(context)

    @abstractmethod
    def _execute(self, context: Context) -> None: ...
