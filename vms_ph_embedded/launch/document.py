# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A launch file as a tree of tags with line and column.

The tree contains the XML only; the meaning of tags and attributes is decided elsewhere.
``xml.etree`` does not keep positions, so its expat parser is used directly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from xml.parsers import expat

from vms_ph_dynamics import VmsPhError
from vms_ph_embedded.launch.errors import LaunchError, Location
from vms_ph_io.settings.bounded_text import read_bytes

MAX_BYTES = 2**18
"""Largest accepted size of a launch file, bytes; real ones have a few thousand."""

# Tags within each other; those of a real launch file are nested four or five deep.
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Element:
    """One tag with its attributes and the tags inside it, in the order of the file."""

    tag: str
    attributes: Mapping[str, str]
    children: tuple["Element", ...]
    location: Location

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
        source = read_bytes(file, MAX_BYTES)
    except VmsPhError as error:
        raise LaunchError(f"{error}; give the path of a launch file (*.launch.xml)") from None
    return _Builder(file).build(source)


class _Builder:
    """Collects what expat reports."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._on_start_tag
        self._parser.EndElementHandler = self._on_end_tag
        self._parser.CharacterDataHandler = self._on_text
        self._parser.buffer_text = True
        # Tags not yet closed, innermost last: (tag, attributes, children, location). The first
        # stands for the document.
        self._open_tags: list[tuple[str, dict[str, str], list[Element], Location]] = [
            ("", {}, [], Location(file, 1, 1))
        ]

    def build(self, source: bytes) -> Element:
        try:
            self._parser.Parse(source, True)
        except expat.ExpatError as error:
            location = Location(self._file, error.lineno, error.offset + 1)
            raise LaunchError(
                f"not well-formed XML: {expat.ErrorString(error.code)}", location
            ) from None
        except (LookupError, ValueError) as error:  # an encoding that Python does not support
            raise LaunchError(f"cannot be decoded: {error}", Location(self._file, 1, 1)) from None
        (root,) = self._open_tags[0][2]  # expat refuses a document without a root
        return root

    def _on_start_tag(self, tag: str, attributes: dict[str, str]) -> None:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        location = Location(self._file, line, column)
        if len(self._open_tags) > _MAX_DEPTH:
            raise LaunchError(f"tags are nested more than {_MAX_DEPTH} deep", location)
        self._open_tags.append((tag, attributes, [], location))

    def _on_end_tag(self, _tag: str) -> None:
        tag, attributes, children, location = self._open_tags.pop()
        element = Element(tag, MappingProxyType(attributes), tuple(children), location)
        self._open_tags[-1][2].append(element)

    def _on_text(self, text: str) -> None:
        if not text.strip():
            return
        tag, _, _, location = self._open_tags[-1]
        raise LaunchError(
            f"text inside <{tag}> ({text.strip()[:40]!r}) means nothing in a launch file; "
            "values belong in attributes, remarks in <!-- -->",
            location,
        )
