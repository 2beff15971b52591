# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ledger of a recorded motion: where its energy came from and went, sample by sample.

It is made by :class:`.LedgerWriter`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ..arrays import Array
from .recorded_energies import DISSIPATED

BASE = "base"
"""Key of the base wrench among the wrenches of samples, and of the base in balances."""


@dataclass(frozen=True)
class Ledger:
    """The energy balance of a recording, J; positive energies flow into the robot.

    ``stored = supplied - dissipated + unaccounted``, without the gaps.

    Attributes:
        joints: names of the joints.
        balanced: names of the momentum balances: the base where it moves, then the joints.
        ports: names of the ports besides the joints.
        time: (K,) instants of the series, s.
        series: cumulative energies at these instants, each (K,) or (K, number of names); the
            names are those of the attributes below, ``kinetic`` and ``potential`` are not
            cumulative.
        gross: sum over the joints of the integral of ``|tau qdot|``.
        gross_by_joint, supplied_by_joint, returned_by_joint, dissipated_by_joint: (n,); what a
            joint returns is part of what it supplies, with the opposite sign.
        residual_by_joint: (balanced,) energy that the residual of each momentum balance brings;
            their sum is the unaccounted energy of the samples, up to the discretisation.
        residual_effort: (balanced,) root mean square of the residual effort over windows, N m or N.
        supplied_by_port: (ports,).
        stored: change of the total energy, without the gaps.
        unobserved: change of the total energy in the gaps.
        unaccounted: at the end.
        band: (K,) half the width of the 95 % interval of the unaccounted energy, from the noise of
            the samples and the error of the quadrature, not from errors of the model.
        largest: the largest size of the unaccounted energy, and ``largest_time`` its instant.
        from_samples: unaccounted energy at the end if the port energies that the recording
            contains are left aside; equal to ``unaccounted`` where it contains none.
        sampling_bound: bound of the error of the quadrature at the end.
        exact: port energies that the recording contains, at the end, by name; empty without.
        samples: number of samples.
        duration: s, without the gaps.
        gaps: number of gaps.
    """

    joints: tuple[str, ...]
    balanced: tuple[str, ...]
    ports: tuple[str, ...]
    time: Array
    series: Mapping[str, Array]
    gross_by_joint: Array
    supplied_by_joint: Array
    returned_by_joint: Array
    dissipated_by_joint: Array
    residual_by_joint: Array
    residual_effort: Array
    supplied_by_port: Array
    stored: float
    unobserved: float
    unaccounted: float
    band: Array
    largest: float
    largest_time: float
    from_samples: float
    sampling_bound: float
    exact: Mapping[str, float]
    samples: int
    duration: float
    gaps: int
    drag: float = 0.0

    @property
    def gross(self) -> float:
        """Sum over the joints of the integral of ``|tau qdot|``, J."""
        return float(self.gross_by_joint.sum())

    @property
    def supplied(self) -> float:
        """Energy supplied by all ports, J."""
        if self.exact:
            return sum(value for name, value in self.exact.items() if name != DISSIPATED)
        return float(self.supplied_by_joint.sum() + self.supplied_by_port.sum())

    @property
    def dissipated(self) -> float:
        """Energy dissipated by friction and drag, J."""
        if self.exact:
            return self.exact[DISSIPATED]
        return float(self.dissipated_by_joint.sum()) + self.drag
