# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The grammar of ``$(name argument ...)`` inside an attribute.

    template      = { text | substitution }
    substitution  = "$(" name { " " value } ")"
    value         = part { part } | "'" { text | substitution } "'" | '"' { ... } '"'
    part          = text without space, quote or parenthesis | substitution

Exactly one space stands between arguments. A ``$`` that no parenthesis follows is text. The
character after a backslash is text, whatever it is; the backslash itself then vanishes. Inside
quotes, the arguments of a nested substitution cannot be quoted again: quotes are ordinary
characters there, as in ``ros2 launch``.
"""

import re
from dataclasses import dataclass

from vms_ph_embedded.launch.errors import LaunchError, Location


@dataclass(frozen=True, slots=True)
class Call:
    """``$(name argument ...)``, each argument again a template."""

    name: str
    arguments: tuple["Template", ...]


Template = tuple["str | Call", ...]
"""Text and substitutions, to be joined once each has been carried out."""


def parse(text: str, location: Location | None = None) -> Template:
    """Split the text of an attribute into plain text and substitutions.

    Args:
        text: The value of the attribute.
        location: Where it stands, for error messages.

    Raises:
        LaunchError: The text breaks the grammar.
    """
    return _Reader(text, location).template(stop=None) if text else ("",)


def is_plain(template: Template) -> bool:
    """Whether no substitution is in it."""
    return all(isinstance(part, str) for part in template)


def unescape(text: str) -> str:
    r"""Text with ``\x`` replaced by ``x``."""
    return re.sub(r"\\(.)", r"\1", text)


# Substitutions within each other; real launch files have two or three.
_MAX_DEPTH = 50

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class _Reader:
    """A recursive descent over the text; the position only moves forward."""

    def __init__(self, text: str, location: Location | None) -> None:
        self._text = text
        self._location = location
        self._position = 0
        self._depth = 0  # of substitutions within each other

    def template(self, stop: str | None) -> Template:
        """Fragments up to the quote character ``stop``, or to the end of the text."""
        fragments: list[str | Call] = []
        while self._position < len(self._text):
            if stop and self._is_special(stop):
                break
            if self._opens_substitution():
                fragments.append(self._substitution(stop))
            else:
                fragments.append(self._literal_text(stop or ""))
        return tuple(fragments)

    def _substitution(self, quote: str | None) -> Call:
        begin = self._position
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(begin, f"substitutions are nested more than {_MAX_DEPTH} deep")
        self._position += 2
        name = _NAME.match(self._text, self._position)
        if not name:
            raise self._error(begin, "a name must follow '$(' at once, as in $(var robot)")
        self._position = name.end()
        arguments: list[Template] = []
        while self._next_character() == " ":
            self._position += 1
            arguments.append(self._value(begin, quote))
        if self._next_character() != ")":
            raise self._error(begin, "')' or one space and an argument expected", here=True)
        self._position += 1
        self._depth -= 1
        return Call(name[0], tuple(arguments))

    def _value(self, begin: int, quote: str | None) -> Template:
        quote_character = self._next_character()
        if quote is None and quote_character in ("'", '"'):
            self._position += 1
            quoted = self.template(stop=quote_character)
            if self._next_character() != quote_character:
                raise self._error(begin, f"the quote {quote_character} is not closed")
            self._position += 1
            return quoted
        stop_characters = " ()" + (quote or "'\"")
        parts: list[str | Call] = []
        while self._position < len(self._text):
            if self._opens_substitution():
                parts.append(self._substitution(quote))
            elif any(self._is_special(stop) for stop in stop_characters):
                break
            else:
                parts.append(self._literal_text(stop_characters))
        if not parts:
            raise self._error(
                begin, "an argument expected; quote it if it is empty or has a space", here=True
            )
        return tuple(parts)

    def _literal_text(self, stop_characters: str) -> str:
        begin = self._position
        while self._position < len(self._text) and not self._opens_substitution():
            if any(self._is_special(stop) for stop in stop_characters):
                break
            self._position += 1
        return unescape(self._text[begin : self._position])

    def _next_character(self) -> str:
        return self._text[self._position : self._position + 1]

    def _is_escaped(self) -> bool:
        return self._position > 0 and self._text[self._position - 1] == "\\"

    def _is_special(self, character: str) -> bool:
        # A space cannot be escaped: ros2 launch ends the argument there.
        return self._next_character() == character and (character == " " or not self._is_escaped())

    def _opens_substitution(self) -> bool:
        return self._text.startswith("$(", self._position) and not self._is_escaped()

    def _error(self, begin: int, problem: str, *, here: bool = False) -> LaunchError:
        if here and self._position < len(self._text):
            problem += f", not {self._text[self._position : self._position + 12]!r}"
        return LaunchError(
            f"substitution {self._text[begin : begin + 40]!r} is malformed: {problem}",
            self._location,
        )
