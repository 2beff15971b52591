# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The efforts on a simulated robot: of its controller, from outside, and both together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..forms import PHState, Ports
from ..model import VMSModel


class Actuation(Protocol):
    """The efforts of a controller; a ``vms_ph_controllers.Command`` is one."""

    @property
    def torque(self) -> Array:
        """(n,) joint torques, N m or N."""

    @property
    def wrench_base(self) -> Array:
        """(b,) wrench on the base in the base frame, linear first, N and N m."""


Control = Callable[[Array, Array, float], Actuation]
"""A controller in the loop: from q (nq,), v (nv,) and the step (s) to its efforts."""


Acting = Ports | Callable[[float, PHState], Ports]


@dataclass(frozen=True, slots=True)
class ToolWrench:
    """A wrench at the origin of a tool.

    Attributes:
        value: (6,) linear first, N and N m.
        in_tool_axes: whether it is given in the tool's axes instead of world axes.
    """

    value: Array
    in_tool_axes: bool = True

    def at(self, model: VMSModel, q: Array, tool: str) -> Array:
        """Return it in the axes of a tool, (6,), in a configuration (nq,)."""
        if self.in_tool_axes:
            return self.value
        to_world = model.evaluate(q, np.zeros(model.nv)).placement(tool)[:3, :3]
        return np.concatenate([self.value[:3] @ to_world, self.value[3:] @ to_world])


@dataclass(frozen=True)
class External:
    """External efforts, which act until they are replaced; None for none.

    Attributes:
        torque: (n,) added to the controller's, N m or N.
        wrench_base: (b,) added to the controller's, in the base frame, N and N m.
        wrench_end_effector: (6,) at the end effector's origin, N and N m.
        in_tool_axes: whether ``wrench_end_effector`` is given in end-effector axes instead of world
            axes.
        wrench_tools: at ``model.tools``, by name; none for zero.
    """

    torque: Array | None = None
    wrench_base: Array | None = None
    wrench_end_effector: Array | None = None
    in_tool_axes: bool = True
    wrench_tools: Mapping[str, ToolWrench] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Efforts:
    """The sum of all efforts; ``wrenches`` are those that act, by the names of the frames."""

    torque: Array
    wrench_base: Array
    wrenches: Mapping[str, ToolWrench]


def with_torque(ports: Acting, torque: Array) -> Acting:
    """Return efforts with a torque added, (n,)."""

    def added(each: Ports) -> Ports:
        return replace(each, torque=each.torque + torque)  # type: ignore[operator]

    if callable(ports):
        return lambda t, x: added(ports(t, x))
    return added(ports)
