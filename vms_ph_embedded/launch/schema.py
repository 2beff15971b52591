# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checks the tags of a launch file, their attributes, and the tags inside them.

The whole file is checked before anything of it is carried out, parts that a condition will skip
included: a misspelt tag is found on the first run, and not on the first run of its branch.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from vms_ph_dynamics.errors import did_you_mean
from vms_ph_embedded.launch import grammar
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import SUBSET_REMARK, LaunchError, Location
from vms_ph_embedded.launch.substitutions import check_calls
from vms_ph_embedded.launch.values import Kind, coerce

_CONDITIONS = frozenset({"if", "unless"})
Choice = TypeVar("Choice")

LITERAL_KINDS: Mapping[str, Kind | None] = {
    "respawn_delay": Kind.SECONDS,
    "respawn_max_retries": Kind.INT,
    "sigterm_timeout": Kind.SECONDS,
    "sigkill_timeout": Kind.SECONDS,
    "scoped": Kind.BOOL,
    "on_exit": None,
    "type": None,
    "description": None,
}
"""Attributes in which ``ros2 launch`` carries out no substitutions: their kind, None for text."""


@dataclass(frozen=True)
class Tag:
    """What one tag accepts, and what carries it out.

    Args:
        required: Attributes that must be given, with spaces between.
        optional: Attributes that may be given.
        children: Tags that may stand inside; None: every action.
        run: Carries the tag out; None for those that mean something only inside another.
    """

    required: str = ""
    optional: str = ""
    children: Mapping[str, "Tag"] | None = field(default_factory=dict)
    run: Callable[[Element, Context], None] | None = None

    @property
    def attributes(self) -> frozenset[str]:
        """Everything that may be given."""
        conditions = _CONDITIONS if self.run else frozenset()
        return frozenset(f"{self.required} {self.optional}".split()) | conditions


def check(root: Element, actions: Mapping[str, Tag]) -> None:
    """Refuse a launch file that holds a tag, an attribute or a substitution outside the subset.

    Args:
        root: Its outermost tag.
        actions: Every action by its tag.

    Raises:
        LaunchError: At the first of them; the message lists what is accepted.
    """
    if root.tag != "launch":
        raise LaunchError(f"the outermost tag is <{root.tag}>; it must be <launch>", root.location)
    _check(root, Tag("", "version", None), actions)


def _check(element: Element, tag: Tag, actions: Mapping[str, Tag]) -> None:
    for name, text in element.attributes.items():
        if name not in tag.attributes:
            raise LaunchError(
                f"<{element.tag}> has no attribute {name!r}; {_remedy(name, tag.attributes)}",
                element.location,
            )
        if name in LITERAL_KINDS:
            literal_value(element, name)
        else:
            check_calls(grammar.parse(text, element.location), element.location)
    for name in tag.required.split():
        if name not in element.attributes:
            raise LaunchError(f"<{element.tag}> lacks its attribute {name!r}", element.location)
    if set(element.attributes) >= _CONDITIONS:
        raise LaunchError(
            f"<{element.tag}> has both 'if' and 'unless'; keep one of them", element.location
        )
    for child in element.children:
        children = actions if tag.children is None else tag.children
        if child.tag not in children:
            parent = "launch files" if tag.children is None else f"<{element.tag}>"
            raise LaunchError(
                f"<{child.tag}> is not supported inside {parent}; {_remedy(child.tag, children)}",
                child.location,
            )
        _check(child, children[child.tag], actions)


def literal_value(element: Element, name: str) -> Any:
    """Return an attribute in which ``ros2 launch`` makes no substitutions; None if not given.

    Raises:
        LaunchError: It is not of its kind.
    """
    kind, text = LITERAL_KINDS[name], element.attributes.get(name)
    if text is None or kind is None:
        return text
    try:
        return coerce(text, kind)
    except ValueError as error:
        hint = "; substitutions are not carried out here" if "$(" in text else ""
        raise LaunchError(f"{name}: {error}{hint}", element.location) from None


def one_of(
    text: str | None, accepted: Mapping[str, Choice], attribute: str, location: Location
) -> Choice | None:
    """Return what a word of a list stands for; None if no word is given.

    Raises:
        LaunchError: The word is not in the list; the message has the list.
    """
    if text is None:
        return None
    if text in accepted:
        return accepted[text]
    raise LaunchError(f"{attribute} is {text!r}; accepted are {', '.join(accepted)}", location)


def _remedy(misspelt: str, names: Iterable[str]) -> str:
    accepted = sorted(names)
    hint = did_you_mean(misspelt, accepted)
    return f"accepted are {', '.join(accepted) or 'none'}{hint}; {SUBSET_REMARK}"
