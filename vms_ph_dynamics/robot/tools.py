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

"""The names of a robot's further wrench ports."""

from collections.abc import Iterable

from ..errors import ModelError

PORTS = ("torque", "wrench_base", "wrench_end_effector")
"""The names of the power ports of every robot, in the order that is used throughout."""

# What stands beside the ports in energy balances.
_TAKEN = (*PORTS, "dissipated", "unaccounted", "stored")


def checked_tools(tools: Iterable[str], end_effector: str) -> tuple[str, ...]:
    """Return the names of further ports.

    Raises:
        ModelError: a name that is given twice, is that of the end effector, or of another port.
    """
    if isinstance(tools, str):
        raise ModelError(f"tools are a list of names; given: the text '{tools}'")
    names = tuple(tools)
    for name in names:
        if name == end_effector:
            raise ModelError(
                f"'{name}' is the end effector, whose port is wrench_end_effector; tools are "
                "further frames"
            )
        if name in _TAKEN:
            raise ModelError(f"a tool cannot be called '{name}', the name of another port")
        if names.count(name) > 1:
            raise ModelError(f"the tool '{name}' is given twice")
    return names
