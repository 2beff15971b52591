# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The result of one integration step of a form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..forms import PHState, Ports

PortFunction = Callable[[float, PHState], Ports]
"""Efforts at the ports as a function of time (s) and state."""

Acting = Ports | PortFunction
"""Efforts at the ports: held, or as a function."""


@dataclass(frozen=True, slots=True)
class Step:
    """The state after a step and the energy that crossed the ports during it.

    Attributes:
        state: at the end of the step.
        supplied: energy into the robot at every port, J, by the scheme's own quadrature.
        dissipated: energy dissipated by friction, J.
    """

    state: PHState
    supplied: Mapping[str, float]
    dissipated: float
