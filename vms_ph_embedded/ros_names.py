# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The rules for names: what is wrong with one, and how one is expanded."""

from __future__ import annotations

import re

Fault = tuple[str, int] | None  # what is wrong, and at which character

_BAD_SUBSTITUTION = "substitution name must not contain characters other than alphanumerics or '_'"
_MAX_NAME_LENGTH = 255
_MAX_TOPIC_LENGTH = 247  # 255 less what DDS names add
_MAX_NAMESPACE_LENGTH = 245  # leaves room for the shortest topic


def fault_in_node_name(name: str) -> Fault:
    """The error in a node name, if any."""
    if not name:
        return "node name must not be empty", 0
    if (bad := re.search(r"[^A-Za-z0-9_]", name)) is not None:
        return "node name must not contain characters other than alphanumerics or '_'", bad.start()
    if name[0].isdigit():
        return "node name must not start with a number", 0
    if len(name) > _MAX_NAME_LENGTH:
        return f"node name length should not exceed '{_MAX_NAME_LENGTH}'", _MAX_NAME_LENGTH - 1
    return None


def fault_in_namespace(namespace: str) -> Fault:
    """The error in a namespace, which must be absolute, if any."""
    if namespace == "/":
        return None
    fault = _fault_in_absolute(namespace, "namespace")
    if fault and fault[0].endswith("end with a '/'"):
        return f"{fault[0]}, unless only a '/'", fault[1]
    if fault is None and len(namespace) > _MAX_NAMESPACE_LENGTH:
        return f"namespace should not exceed '{_MAX_NAMESPACE_LENGTH}'", _MAX_NAMESPACE_LENGTH - 1
    return fault


def fault_in_full_topic_name(name: str) -> Fault:
    """The error in an absolute topic or service name, if any."""
    fault = _fault_in_absolute(name, "topic name")
    if fault is None and len(name) > _MAX_TOPIC_LENGTH:
        return f"topic length should not exceed '{_MAX_TOPIC_LENGTH}'", _MAX_TOPIC_LENGTH - 1
    return fault


def fault_in_topic_name(name: str) -> Fault:
    """The error in a topic or service name, relative, private or a template, if any."""
    if not name:
        return "topic name must not be empty string", 0
    if name[0].isdigit():
        return "topic name token must not start with a number", 0
    if name.endswith("/"):
        return "topic name must not end with a forward slash", len(name) - 1
    opening_index = None  # where a substitution began
    for i, char in enumerate(name):
        if char == "{":
            if opening_index is not None:
                return _BAD_SUBSTITUTION, i
            opening_index = i
        elif char == "}":
            if opening_index is None:
                return "topic name must not have unmatched (unbalanced) curly braces '{}'", i
            opening_index = None
        elif opening_index is not None:
            if char.isdigit() and i == opening_index + 1:
                return "substitution name must not start with a number", i
            if not re.match(r"[A-Za-z0-9_]", char):
                return _BAD_SUBSTITUTION, i
        elif char == "~":
            if i:
                return "topic name must not have tilde '~' unless it is the first character", i
        elif not re.match(r"[A-Za-z0-9_/]", char):
            return (
                "topic name must not contain characters other than alphanumerics, '_', '~', '{', "
                "or '}'",
                i,
            )
    if opening_index is not None:
        return "topic name must not have unmatched (unbalanced) curly braces '{}'", opening_index
    if (numbered_token := re.search(r"/[0-9]", name)) is not None:
        return "topic name token must not start with a number", numbered_token.start() + 1
    if name.startswith("~") and len(name) > 1 and name[1] != "/":
        return (
            "topic name must not have a tilde '~' that is not followed by a forward slash '/'",
            1,
        )
    return None


def expand(name: str, node_name: str, namespace: str) -> str:
    """The absolute name of a relative (``x``), private (``~/x``) or template (``{node}/x``) one."""
    parent = namespace.rstrip("/")
    if name.startswith("~"):
        name = f"{parent}/{node_name}{name[1:]}"
    for pattern, text in (("{node}", node_name), ("{ns}", namespace), ("{namespace}", namespace)):
        name = name.replace(pattern, text)
    if "{" in name:
        raise ValueError(f"unknown substitution in topic name: '{name}'")
    return name if name.startswith("/") else f"{parent}/{name}"


def absolute_namespace(namespace: str | None) -> str:
    """A namespace as a node accepts it, with its leading slash."""
    namespace = namespace or "/"
    return namespace if namespace.startswith("/") else f"/{namespace}"


def _fault_in_absolute(name: str, kind: str) -> Fault:
    if not name:
        return f"{kind} must not be empty", 0
    if not name.startswith("/"):
        return f"{kind} must be absolute, it must lead with a '/'", 0
    if name.endswith("/"):
        return f"{kind} must not end with a '/'", len(name) - 1
    if (bad_character := re.search(r"[^A-Za-z0-9_/]", name)) is not None:
        return (
            f"{kind} must not contain characters other than alphanumerics, '_', or '/'",
            bad_character.start(),
        )
    if (bad_character := re.search(r"/[/0-9]", name)) is not None:
        if bad_character.group() == "//":
            return f"{kind} must not contain repeated '/'", bad_character.start() + 1
        return f"{kind} must not have a token that starts with a number", bad_character.start() + 1
    return None
