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

"""The result of one integration step of a form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..structure import PHState, Ports

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
