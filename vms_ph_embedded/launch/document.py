# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A launch file as a tree of tags with line and column.

The tree contains the XML only; the meaning of tags and attributes is decided elsewhere.
``xml.etree`` does not keep positions, so its expat parser is used directly.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from xml.parsers import expat

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_embedded.launch.errors import LaunchError, Location
from vms_ph_io.settings.bounded_text import read_bytes


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: its value after XML unescaping, and where its name stands."""

    text: str
    location: Location


@dataclass(frozen=True, slots=True)
class Element:
    """One tag with its attributes and the tags inside it, in the order of the file."""

    tag: str
    attributes: Mapping[str, Attribute]
    children: tuple["Element", ...]
    location: Location

    def text(self, name: str) -> str | None:
        """The value of an attribute, None where it is not given."""
        attribute = self.attributes.get(name)
        return None if attribute is None else attribute.text

    def at(self, name: str) -> Location:
        """The place of an attribute; that of the tag where it is not given."""
        attribute = self.attributes.get(name)
        return self.location if attribute is None else attribute.location

    def inside(self, tag: str) -> tuple["Element", ...]:
        """The tags of one kind directly inside this one."""
        return tuple(child for child in self.children if child.tag == tag)


def read(file: Path) -> Element:
    """The root tag of a launch file.

    Args:
        file: The file; its absolute path is what error messages and ``$(dirname)`` show.

    Raises:
        LaunchError: The file is missing, unreadable, or not well-formed XML.
    """
    try:
        source = read_bytes(file, LARGEST)
    except IsADirectoryError:
        raise LaunchError(f"{file} is a folder; give a launch file (*.launch.xml)") from None
    except OSError as error:
        raise LaunchError(
            f"cannot read launch file {file}: {error.strerror or error}; "
            "give the path of a *.launch.xml file"
        ) from None
    except VmsPhError as error:
        raise LaunchError(f"cannot read launch file: {error}") from None
    return _Builder(file, source).build()


LARGEST = 2**18
"""Largest accepted size of a launch file, bytes; real ones have a few thousand."""

# Tags within each other; those of a real launch file are nested four or five deep.
_DEEPEST = 100

# Attributes of one tag.
_MOST_ATTRIBUTES = 100

_ATTRIBUTE = re.compile(rb"""([^\s=<>/"']+)\s*=\s*("[^"]*"|'[^']*')""")


class _Builder:
    """Collects what expat reports."""

    def __init__(self, file: Path, source: bytes) -> None:
        self._file = file
        self._source = source
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.buffer_text = True
        # Tags not yet closed, innermost last: (tag, attributes, children, location).
        self._open: list[tuple[str, dict[str, Attribute], list[Element], Location]] = []
        self._root: Element | None = None

    def build(self) -> Element:
        try:
            self._parser.Parse(self._source, True)
        except expat.ExpatError as error:
            where = Location(self._file, error.lineno, error.offset + 1)
            raise LaunchError(
                f"not well-formed XML: {expat.ErrorString(error.code)}", where
            ) from None
        except (LookupError, ValueError) as error:  # an encoding that Python does not support
            raise LaunchError(f"cannot be decoded: {error}", Location(self._file, 1, 1)) from None
        assert self._root is not None  # expat refuses a document without a root
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        location = Location(
            self._file, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        )
        if len(attributes) > _MOST_ATTRIBUTES:
            raise LaunchError(
                f"<{tag[:40]}> has {len(attributes)} attributes; at most {_MOST_ATTRIBUTES} are "
                "accepted",
                location,
            )
        places = self._attribute_places(location)
        located = {
            name: Attribute(text, places.get(name, location)) for name, text in attributes.items()
        }
        if len(self._open) == _DEEPEST:
            raise LaunchError(f"tags are nested more than {_DEEPEST} deep", location)
        self._open.append((tag, located, [], location))

    def _end(self, _tag: str) -> None:
        tag, attributes, children, location = self._open.pop()
        element = Element(tag, MappingProxyType(attributes), tuple(children), location)
        if self._open:
            self._open[-1][2].append(element)
        else:
            self._root = element

    def _characters(self, text: str) -> None:
        if not text.strip():
            return
        tag, _, _, location = self._open[-1]
        raise LaunchError(
            f"text inside <{tag}> ({text.strip()[:40]!r}) means nothing in a launch file; "
            "values belong into attributes, remarks into <!-- -->",
            location,
        )

    def _attribute_places(self, start: Location) -> dict[str, Location]:
        """The place of each attribute of the tag that begins here; expat reports only the tag."""
        begin = self._parser.CurrentByteIndex
        places: dict[str, Location] = {}
        position = begin
        while match := _ATTRIBUTE.search(self._source, position):
            # Between two attributes stands only white space; a bracket means the tag is over.
            if b">" in self._source[position : match.start()]:
                break
            before = self._source[begin : match.start()]
            newline = before.rfind(b"\n")
            column = (start.column if newline < 0 else 0) + len(before[newline + 1 :].decode())
            column += newline >= 0
            places[match[1].decode()] = Location(
                self._file, start.line + before.count(b"\n"), column
            )
            position = match.end()
        return places
