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

"""Impulses within bounds: the smallest that the velocities along their rows call for."""

from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ..components.set_valued import SetValued
from ..equations.layout import Held
from ..equations.processes import Index

_SWEEPS, _CONVERGED = 500, 1e-14


class Process(NamedTuple):
    """A component with bounded forces, the place of its velocities, and where its heat goes."""

    box: str
    component: SetValued
    velocities: Index
    heat: Held


class Acting(NamedTuple):
    """The processes that may act at a configuration, as rows of one linear system.

    Attributes:
        processes: one per row.
        bounds: of the rows.
        rows: (k,stored) of the velocities over stored efforts.
        velocity: (k,) at the configuration.
        mobility: W, (k,k): the change of the velocities by impulses is ``-W P``.
        push: (linear,k): that of the momenta is ``-push P``.
    """

    processes: list[Process]
    lower: Array
    upper: Array
    friction: Array
    normal: Index
    restitution: Array
    rows: Array
    velocity: Array
    mobility: Array
    push: Array


def impulses(here: Acting, velocity: Array, dt: float, given: Array, returned: Array) -> Array:
    """Return the impulses within bounds by the projected Gauss-Seidel method, (k,).

    The rows of friction at one contact are found together, so that friction is against the sliding
    in whatever direction that is.

    Args:
        here: the processes.
        velocity: (k,) with the impulses that are already given.
        dt: duration that multiplies the bounds of forces, s.
        given: (k,) impulses.
        returned: (k,) velocities at which contacts leave.
    """
    total = given.copy()
    u = velocity.copy()
    diagonal = np.maximum(np.diagonal(here.mobility), 1e-300)
    alone = np.flatnonzero(here.normal < 0)
    cones = [
        (n, np.flatnonzero(here.normal == n)) for n in np.unique(here.normal[here.normal >= 0])
    ]
    # Steps of the largest mobility converge in every direction of a cone.
    eased = [np.linalg.eigvalsh(here.mobility[np.ix_(at, at)])[-1] for _, at in cones]
    for _ in range(_SWEEPS):
        largest = 0.0
        for k in alone:
            wanted = total[k] + (u[k] - returned[k]) / diagonal[k]
            bounded = min(max(wanted, here.lower[k] * dt), here.upper[k] * dt)
            change = bounded - total[k]
            if change:
                u -= here.mobility[:, k] * change
                total[k] = bounded
                largest = max(largest, abs(change) * diagonal[k])
        for (n, at), mobility in zip(cones, eased, strict=True):
            there = total[at] + (u[at] - returned[at]) / max(mobility, 1e-300)
            limit = here.friction[at[0]] * max(-total[n], 0.0)
            length = float(np.sqrt(there @ there))
            if length > limit:
                there *= limit / length
            moved = there - total[at]
            if moved.any():
                u -= here.mobility[:, at] @ moved
                total[at] = there
                largest = max(largest, float(np.abs(moved).max()) * mobility)
        if largest <= _CONVERGED * (1.0 + float(np.abs(u).max(initial=0.0))):
            break
    return total
