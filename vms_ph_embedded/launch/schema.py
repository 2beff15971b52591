# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The tags that a launch file may contain, their attributes, and the tags inside them.

The subset that ``ros2 launch`` (Jazzy) and this launcher read with one meaning. The whole file is
checked before anything of it is carried out, parts that a condition will skip included: a misspelt
tag is found on the first run, and not on the first run of its branch.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Tag:
    """Attributes and children that one tag accepts.

    Args:
        required: Attributes that must be given.
        optional: Attributes that may be given.
        children: Tags that may stand inside; "*" means every action.
    """

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()

    @property
    def attributes(self) -> frozenset[str]:
        """Everything that may be given."""
        return self.required | self.optional


_CONDITION = _words("if unless")
_PROCESS = _CONDITION | _words(
    "cwd output respawn respawn_delay respawn_max_retries on_exit launch-prefix "
    "sigterm_timeout sigkill_timeout"
)

ACTIONS: dict[str, Tag] = {
    "arg": Tag(_words("name"), _CONDITION | _words("default description"), _words("choice")),
    "let": Tag(_words("name value"), _CONDITION),
    "node": Tag(
        _words("exec"),
        _PROCESS | _words("pkg name exec_name namespace args ros_args"),
        _words("param remap env"),
    ),
    "executable": Tag(_words("cmd"), _PROCESS | _words("name shell"), _words("env")),
    "group": Tag(frozenset(), _CONDITION | _words("scoped"), _words("*")),
    "include": Tag(_words("file"), _CONDITION, _words("arg")),
    "push_ros_namespace": Tag(_words("namespace"), _CONDITION),
    "push-ros-namespace": Tag(_words("namespace"), _CONDITION),
    "set_remap": Tag(_words("from to"), _CONDITION),
    "set_parameter": Tag(_words("name value"), _CONDITION),
    "set_env": Tag(_words("name value"), _CONDITION),
    "unset_env": Tag(_words("name"), _CONDITION),
    "log": Tag(_words("message"), _CONDITION),
}

_NAME_VALUE = Tag(_words("name value"))
_PARAMETER = Tag(frozenset(), _words("name value type from allow_substs"), _words("param"))

# Tags that mean something only inside another: (parent, tag).
_INNER: dict[tuple[str, str], Tag] = {
    ("arg", "choice"): Tag(_words("value")),
    ("include", "arg"): _NAME_VALUE,
    ("node", "remap"): Tag(_words("from to")),
    ("node", "env"): _NAME_VALUE,
    ("executable", "env"): _NAME_VALUE,
    ("node", "param"): _PARAMETER,
    ("param", "param"): _PARAMETER,
}

_ROOT = Tag(frozenset(), _words("version deprecated"), _words("*"))


def check(root: Element) -> None:
    """Refuse a launch file that holds a tag or an attribute outside the subset.

    Raises:
        LaunchError: At the first of them; the message lists what is accepted.
    """
    if root.tag != "launch":
        raise LaunchError(f"the outermost tag is <{root.tag}>; it must be <launch>", root.location)
    _check(root, _ROOT)


def _check(element: Element, tag: Tag) -> None:
    for name, attribute in element.attributes.items():
        if name not in tag.attributes:
            raise LaunchError(
                f"<{element.tag}> has no attribute {name!r}; "
                + _listed("accepted are", name, tag.attributes),
                attribute.location,
            )
    for name in sorted(tag.required - set(element.attributes)):
        raise LaunchError(f"<{element.tag}> lacks its attribute {name!r}", element.location)
    if set(element.attributes) >= _CONDITION:
        raise LaunchError(
            f"<{element.tag}> has both 'if' and 'unless'; keep one of them", element.at("unless")
        )
    for child in element.children:
        _check(child, _tag_inside(element, tag, child))


def _tag_inside(parent: Element, tag: Tag, child: Element) -> Tag:
    if "*" in tag.children:
        if child.tag in ACTIONS:
            return ACTIONS[child.tag]
        raise LaunchError(
            f"tag <{child.tag}> is not supported; " + _listed("accepted are", child.tag, ACTIONS),
            child.location,
        )
    if child.tag in tag.children:
        return _INNER[parent.tag, child.tag]
    accepted = _listed("accepted are", child.tag, tag.children) if tag.children else "nothing may"
    raise LaunchError(
        f"<{child.tag}> cannot stand inside <{parent.tag}>; {accepted}", child.location
    )


def _listed(introduction: str, misspelt: str, names: Iterable[str]) -> str:
    accepted = sorted(names)
    close = difflib.get_close_matches(misspelt, accepted, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{introduction} {', '.join(accepted)}{hint}"
