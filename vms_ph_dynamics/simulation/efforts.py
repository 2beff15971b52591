# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Efforts on a simulated robot: of its controller, and wrenches given in world axes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..forms import PHState, Ports
from ..integrators.stepper import Efforts, efforts_at
from ..model import VMSModel


class Actuation(Protocol):
    """The output of a controller: a ``vms_ph_controllers.Command``, or :class:`.Ports`."""

    @property
    def torque(self) -> Array | None:
        """(n,) joint torques, N m or N; None for zero."""

    @property
    def wrench_base(self) -> Array | None:
        """(b,) wrench on the base in the base frame, linear first, N and N m; None for zero."""


Control = Callable[[Array, Array, float], Actuation]
"""A controller in the loop: from q (nq,), v (nv,) and the step (s) to its efforts."""


@dataclass(frozen=True, eq=False)
class WorldFramePorts:
    """Efforts whose wrenches at some frames keep their direction in the world.

    A function of time and state, as all integrators take: the wrenches follow the motion of their
    frames within a step.

    Attributes:
        model: the robot.
        ports: the efforts; wrenches of ``frames`` in world axes, linear first, N and N m.
        frames: names of the end effector and of tools.
    """

    model: VMSModel
    ports: Ports
    frames: frozenset[str]

    def __call__(self, t: float, x: PHState) -> Ports:
        """Return the efforts at a state, all wrenches in the axes of their frames."""
        d = self.model.evaluate(x.q, np.zeros(self.model.nv))
        wrenches = wrenches_of(self.ports, self.model.end_effector)
        for name in self.frames & wrenches.keys():
            wrenches[name] = (wrenches[name].reshape(2, 3) @ d.placement(name)[:3, :3]).ravel()
        tool_wrench = wrenches.pop(self.model.end_effector, None)
        return replace(self.ports, wrench_end_effector=tool_wrench, wrench_tools=wrenches or None)


def wrenches_of(ports: Ports, end_effector: str) -> dict[str, Array]:
    """Return the wrenches (6,) that are given at end effector and tools, by their frames."""
    wrenches = {end_effector: ports.wrench_end_effector, **(ports.wrench_tools or {})}
    return {name: wrench for name, wrench in wrenches.items() if wrench is not None}


def in_world_axes(model: VMSModel, ports: Ports, frames: Iterable[str] = ()) -> Efforts:
    """Return efforts whose wrenches at some frames are given in world axes.

    Args:
        model: the robot.
        ports: the efforts.
        frames: names of tools and of the end effector; the end effector when empty.
    """
    frame_names = frozenset(frames) or frozenset({model.end_effector})
    wrenches = wrenches_of(ports, model.end_effector)
    active = {name for name, wrench in wrenches.items() if name in frame_names and wrench.any()}
    return WorldFramePorts(model, ports, frozenset(active)) if active else ports


def add(efforts: Efforts, addend: Efforts) -> Efforts:
    """Return the sum of efforts, which may be functions of time and state."""
    if callable(efforts) or callable(addend):
        return lambda t, x: efforts_at(efforts, t, x) + efforts_at(addend, t, x)
    return efforts + addend
