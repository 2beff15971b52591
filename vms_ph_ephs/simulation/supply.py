# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy and entropy that cross the outer ports during a step, summed over its stages."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..equations import Equations

Flows = Mapping[str, Any]
"""Flows into outer power ports, by name."""

Inputs = Flows | Callable[[float, Array], Flows]
"""Flows into outer power ports: held, or as a function of time (s) and state vector."""


def acting(inputs: Inputs | None, t: float, x: Array) -> Flows:
    """Return the flows at a time and state."""
    if inputs is None:
        return {}
    return inputs(t, x) if callable(inputs) else inputs


class Supply:
    """The supply through the outer ports of a system, integrated with the weights of a scheme.

    Attributes:
        supplied: exergy supplied through every outer power port, J.
        entropy: supplied through all of them together, J/K.
        path: (total,) integral of all efforts over the step: the path along each velocity.
        slid: the same along the rows of forces that are held, by box.
    """

    __slots__ = ("_equations", "entropy", "path", "slid", "supplied")

    def __init__(self, equations: Equations) -> None:
        outer = equations.system.pattern.outer
        self._equations = equations
        self.supplied = {name: 0.0 for name, port in outer.items() if port.kind == "power"}
        self.entropy = 0.0
        self.path = np.zeros(equations.layout.total)
        self.slid: dict[str, Array] = {}

    def add(self, flows: Flows, efforts: Array, duration: float) -> None:
        """Add the supply of flows at the given efforts, (total,), held for ``duration`` s.

        The state is the one that was last looked at.
        """
        layout = self._equations.layout
        self.path += duration * efforts
        if self._equations.processes.held:
            for box, velocity in self._equations.processes.along(efforts).items():
                self.slid[box] = self.slid.get(box, 0.0) + duration * velocity
        for name, value in flows.items():
            at = layout.efforts[layout.outer[name]]
            flow = duration * np.broadcast_to(
                np.asarray(value, dtype=np.float64), at.stop - at.start
            )
            self.supplied[name] += float(efforts[at] @ flow)
            self.entropy += float(self._equations.is_entropy[at] @ flow)

    def append(self, later: "Supply") -> None:
        """Add the supply of a step that follows."""
        for name, value in later.supplied.items():
            self.supplied[name] += value
        self.entropy += later.entropy
        self.path += later.path
        for box, length in later.slid.items():
            self.slid[box] = self.slid.get(box, 0.0) + length

    @property
    def energy(self) -> float:
        """Energy supplied, J: the exergy, and ``theta_0`` times the entropy."""
        return sum(self.supplied.values()) + self._equations.theta_0 * self.entropy
