# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of mechanisms in the C++ core, along the tree of their bodies and joints."""

from typing import cast

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..equations import Equations
from .steps import Inputs, Move, Supply, acting


class TreeStep:
    """The step of ``projected_rk4`` with its projection, as the core computes it.

    Args:
        equations: of the system.
        tolerance: opening of a joint above which a second projection follows, m or rad.
    """

    def __init__(self, equations: Equations, tolerance: float) -> None:
        self._equations, self._tolerance = equations, tolerance

    def move(
        self, x: Array, inputs: Inputs | None, t: float, dt: float
    ) -> tuple[Move, Array] | None:
        """Return a step, and the eigenvalues of the constraints of loops.

        None where the core does not compute the system, or the step fails: numpy then finds the
        same failure, and names the box or joint.
        """
        equations = self._equations
        core = equations.core
        if core is None:
            return None
        step = core.step(t, x, dt, self._flows(inputs), self._tolerance)
        if step is None:
            return None
        after, along, flow, exergy, opening = step
        if not opening * opening <= self._tolerance:
            return None
        supply = Supply(equations)
        if flow is not None:
            for name in supply.supplied:
                at = equations.layout.efforts[equations.layout.outer[name]]
                supply.supplied[name] = float(exergy[at].sum())
            supply.entropy = float(equations.is_entropy @ flow)
        return Move(after, along, supply), cast(Array, core.loop_values)

    def _flows(self, inputs: Inputs | None) -> object:
        """Return the flows at all efforts: none, held, or as a function of time and state."""
        equations = self._equations
        if not callable(inputs):
            return equations.flow_of(inputs)
        none = np.zeros(equations.layout.total)

        def flows(t: float, x: Array) -> Array:
            flow = equations.flow_of(acting(inputs, t, x))
            return none if flow is None else flow

        return flows
