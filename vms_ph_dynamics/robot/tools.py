# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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
