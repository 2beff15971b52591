# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bounded reading of YAML: plain values only, and no text can hang or crash a program."""

from pathlib import Path
from typing import Any, ClassVar

import yaml

from vms_ph_dynamics.errors import VmsPhError

from ..text_files import NotTextError, read_text

LARGEST_TEXT = 2**20
"""Largest accepted number of characters; PyYAML reads about 100 000 in a second."""

DEEPEST = 64
"""Largest accepted nesting depth."""

MOST_VALUES = 200_000
"""Largest accepted number of values, those that an alias repeats counted each time."""

_MOST_BITS = 1024  # of an integer; a float has this range


class YamlError(VmsPhError):
    """A text that is not YAML of plain values within the bounds."""


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which by itself bounds neither depth nor what aliases repeat."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]]  # type: ignore[misc]  # as of the base class

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._values = 0
        self._size_of: dict[int, int] = {}  # of nodes that are complete

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose one node and count it, or what its alias repeats."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            node = super().compose_node(parent, index)
            if id(node) not in self._size_of:
                raise yaml.MarkedYAMLError(problem="a value contains itself", problem_mark=mark)
            self._values += self._size_of[id(node)]
        else:
            self._depth += 1
            if self._depth > DEEPEST:
                raise yaml.MarkedYAMLError(
                    problem=f"values are nested more than {DEEPEST} deep", problem_mark=mark
                )
            before = self._values
            node = super().compose_node(parent, index)
            self._values += 1
            self._size_of[id(node)] = self._values - before
            self._depth -= 1
        if self._values > MOST_VALUES:
            raise yaml.MarkedYAMLError(
                problem=f"it has more than {MOST_VALUES} values", problem_mark=mark
            )
        return node

    def construct_yaml_int(self, node: Any) -> int:
        """Return an integer that can be printed, in any base that YAML has."""
        value = int(super().construct_yaml_int(node))
        if value.bit_length() > _MOST_BITS:
            raise yaml.MarkedYAMLError(
                problem=f"an integer has more than {_MOST_BITS} bits", problem_mark=node.start_mark
            )
        return value


BoundedLoader.add_constructor("tag:yaml.org,2002:int", BoundedLoader.construct_yaml_int)


def parse_yaml(text: str, loader: type[BoundedLoader] = BoundedLoader) -> Any:
    """Return the value of a YAML text.

    Raises:
        YamlError: it is not YAML, or exceeds a bound.
    """
    if len(text) > LARGEST_TEXT:
        raise YamlError(f"it has {len(text)} characters; at most {LARGEST_TEXT} are accepted")
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
        text = read_text(path, 4 * LARGEST_TEXT)
    except NotTextError as error:
        raise YamlError(str(error)) from None
    except OSError as error:
        raise VmsPhError(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        return parse_yaml(text)
    except YamlError as error:
        raise YamlError(f"{path} is not YAML: {error}") from None
