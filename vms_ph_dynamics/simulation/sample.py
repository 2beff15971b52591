# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a simulated robot does at one instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..arrays import Array


@dataclass(frozen=True)
class Sample:
    """The motion, the efforts and the port energies at one instant.

    Efforts that jump at this instant are given as the mean of both sides: the trapezoidal rule over
    samples then integrates them without error from the jumps.

    Attributes:
        time: simulated time, s.
        q: (nq,) configuration.
        v: (nv,) velocity.
        torque: (n,) total joint torques, N m or N.
        wrench_base: (b,) total wrench at the base in its own axes, N and N m.
        wrench_end_effector: (6,) wrench at the end effector in its own axes, N and N m.
        port_energy: supplied through each port since the last reset, J.
        dissipated: energy dissipated by friction and joint stops since then, J.
        wrench_tools: (6,) total wrench at each tool in its own axes, by name.
    """

    time: float
    q: Array
    v: Array
    torque: Array
    wrench_base: Array
    wrench_end_effector: Array
    port_energy: Mapping[str, float]
    dissipated: float
    wrench_tools: Mapping[str, Array] = field(default_factory=dict)
