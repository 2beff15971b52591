# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The end effectors that a semantic description (SRDF) of a robot names."""

from collections.abc import Iterable
from pathlib import Path

from vms_ph_dynamics.errors import ModelError, VmsPhError
from vms_ph_dynamics.robot.description import parse_description

from ..text_files import read_text


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
