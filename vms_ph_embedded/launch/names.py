# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names and namespaces of ROS nodes."""

import re

from vms_ph_embedded.launch.errors import LaunchError, Location

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 255
_LONGEST_NAMESPACE = 245


def check_node_name(name: str, location: Location) -> None:
    """Refuse a name that ROS would refuse.

    Raises:
        LaunchError: With the rule it breaks.
    """
    if not _TOKEN.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise LaunchError(
            f"node name {name!r} is not valid: letters, digits and underscores, no digit first, "
            f"at most {_LONGEST_NAME} characters",
            location,
        )


def check_namespace(namespace: str, location: Location) -> None:
    """Refuse an absolute namespace that ROS would refuse.

    Raises:
        LaunchError: With the rule it breaks.
    """
    tokens = namespace[1:].split("/") if namespace != "/" else []
    if (
        not namespace.startswith("/")
        or len(namespace) > _LONGEST_NAMESPACE
        or not all(_TOKEN.fullmatch(token) for token in tokens)
    ):
        raise LaunchError(
            f"namespace {namespace!r} is not valid: names of letters, digits and underscores "
            f"separated by single slashes, at most {_LONGEST_NAMESPACE} characters",
            location,
        )


def join(base: str | None, namespace: str | None) -> str | None:
    """A namespace inside another one, absolute; an absolute one stands for itself.

    Args:
        base: The namespace pushed so far, None when none was.
        namespace: What is added, None when nothing is.

    Returns:
        The absolute namespace; None when there is none at all.
    """
    if base is None and namespace is None:
        return None
    if namespace is None:
        joined = base or ""
    elif not base or namespace.startswith("/"):
        joined = namespace
    else:
        joined = ("" if base == "/" else base) + "/" + namespace
    if joined != "/":
        joined = joined.rstrip("/")
    return joined if joined.startswith("/") else "/" + joined
