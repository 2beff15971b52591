# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bounded reading of text and YAML files: no file can hang or crash a program."""

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import yaml

from vms_ph_dynamics import VmsPhError


class NotTextError(VmsPhError):
    """A file that is not text in its encoding."""


MAX_FILE_BYTES = 32 * 2**20
"""Largest accepted size of a text file, bytes; robot descriptions have less than a million."""


def read_bytes(path: str | Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file.

    Raises:
        VmsPhError: no such file, an unreadable one, a path that no file can have, or a file that is
            too large or endless.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise VmsPhError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a null character
        raise VmsPhError(f"{str(path)[:80]!r} is not the path of a file: {error}") from None
    if len(content) > max_bytes:
        raise VmsPhError(f"{path} is too large: at most {max_bytes} bytes are accepted")
    return content


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file or folder in an error while it is written.

    Raises:
        VmsPhError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise VmsPhError(writing_failure(path, error)) from None


def writing_failure(path: object, error: OSError) -> str:
    """Return the sentence of an error while a file or folder is written."""
    return (
        f"{path} cannot be written: {error.strerror or error}; make room or allow it, or choose "
        "another folder"
    )


_DECLARATION = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.-]+)["']""")


def read_text(path: str | Path, max_bytes: int = MAX_FILE_BYTES) -> str:
    """Return the content of a file as text, with line feeds for all kinds of line ends.

    The text is UTF-8, or what a byte order mark or the declaration of an XML file says.

    Raises:
        NotTextError: a file that is not text in its encoding.
        VmsPhError: no such file, an unreadable one, or one that is too large or endless.
    """
    content = read_bytes(path, max_bytes)
    declaration = _DECLARATION.match(content[:200])
    encoding = declaration[1].decode("ascii", "replace") if declaration else "utf-8"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif content.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotTextError(
            f"{path} is not {encoding.upper()} text: {error.reason} at byte {error.start}; save it "
            "as UTF-8"
        ) from None
    except LookupError:
        raise NotTextError(
            f"{path} declares the encoding '{encoding}', which is unknown; save it as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


MAX_YAML_CHARACTERS = 2**20
"""Largest accepted number of characters; PyYAML reads about 100 000 in a second."""

MAX_YAML_DEPTH = 64
"""Largest accepted nesting depth."""

MAX_YAML_VALUES = 200_000
"""Largest accepted number of values, those that an alias repeats counted each time."""

_MAX_INTEGER_BITS = 1024  # of an integer; a float has this range


class YamlError(VmsPhError):
    """A text that is not YAML of plain values within the bounds."""


def _refuse(problem: str, mark: Any) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which by itself bounds neither depth nor what aliases repeat."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]]  # type: ignore[misc]  # as of the base class

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._value_count = 0
        self._size_of: dict[int, int] = {}  # of nodes that are complete

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose one node and count it, or what its alias repeats."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            node = super().compose_node(parent, index)
            if id(node) not in self._size_of:
                _refuse("a value contains itself", mark)
            self._value_count += self._size_of[id(node)]
        else:
            self._depth += 1
            if self._depth > MAX_YAML_DEPTH:
                _refuse(f"values are nested more than {MAX_YAML_DEPTH} deep", mark)
            count_before = self._value_count
            node = super().compose_node(parent, index)
            self._value_count += 1
            self._size_of[id(node)] = self._value_count - count_before
            self._depth -= 1
        if self._value_count > MAX_YAML_VALUES:
            _refuse(f"it has more than {MAX_YAML_VALUES} values", mark)
        return node

    def construct_yaml_int(self, node: Any) -> int:
        """Return an integer that can be printed, in any base that YAML has."""
        value = int(super().construct_yaml_int(node))
        if value.bit_length() > _MAX_INTEGER_BITS:
            _refuse(f"an integer has more than {_MAX_INTEGER_BITS} bits", node.start_mark)
        return value


BoundedLoader.add_constructor("tag:yaml.org,2002:int", BoundedLoader.construct_yaml_int)


def parse_yaml(text: str, loader: type[BoundedLoader] = BoundedLoader) -> Any:
    """Return the value of a YAML text.

    Raises:
        YamlError: it is not YAML, or exceeds a bound.
    """
    if len(text) > MAX_YAML_CHARACTERS:
        raise YamlError(
            f"it has {len(text)} characters; at most {MAX_YAML_CHARACTERS} are accepted"
        )
    try:
        return yaml.load(text, loader)
    except Exception as error:  # a constructor raises anything for an invalid scalar
        reason = " ".join(str(error).split()) or type(error).__name__
        if not isinstance(error, yaml.YAMLError):
            reason = f"invalid value: {reason}"
        raise YamlError(reason) from None


def read_yaml(path: str | Path) -> Any:
    """Return the value of a YAML file.

    Raises:
        VmsPhError: the file cannot be read, or is not YAML within the bounds.
    """
    try:
        return parse_yaml(read_text(path, 4 * MAX_YAML_CHARACTERS))
    except NotTextError as error:
        raise YamlError(str(error)) from None
    except YamlError as error:
        raise YamlError(f"{path} is not YAML: {error}") from None
