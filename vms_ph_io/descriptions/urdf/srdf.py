# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The end effectors that a semantic description (SRDF) of a robot names."""

from collections.abc import Iterable
from pathlib import Path

from vms_ph_dynamics.errors import ModelError, VmsPhError
from vms_ph_dynamics.robot.description import parse_description

from ...text_files import read_text


def srdf_end_effectors(path: str | Path) -> tuple[str, ...]:
    """Return the links on which the end effectors of an SRDF are mounted, in its order.

    Raises:
        VmsPhError: no such file.
        ModelError: it is no SRDF, or names no end effector.
    """
    file = Path(path)
    try:
        text = read_text(file)
    except OSError as error:
        raise VmsPhError(f"the SRDF {file} cannot be read: {error.strerror or error}") from None
    try:
        root = parse_description(text)
    except ModelError as error:
        raise ModelError(f"{file.name} is no SRDF: {error}") from None
    links = [element.get("parent_link", "") for element in root.findall("end_effector")]
    if root.tag != "robot" or not links or not all(links):
        raise ModelError(
            f"{file.name} names no end effectors; an SRDF has elements "
            '<end_effector name="..." parent_link="..." group="..."/> in its <robot>'
        )
    return tuple(dict.fromkeys(links))


def with_srdf(
    path: str | Path, end_effector: str | None, tools: Iterable[str]
) -> tuple[str, tuple[str, ...]]:
    """Return the end effector and the tools, with those that an SRDF adds; see its reader."""
    named = srdf_end_effectors(path)
    chosen = end_effector or named[0]
    others = (name for name in named if name != chosen)
    return chosen, tuple(dict.fromkeys([*tools, *others]))
