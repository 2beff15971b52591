# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The rates, efforts and constraint forces of a system at a state."""

from dataclasses import dataclass

from vms_ph_dynamics.arrays import Array


@dataclass(frozen=True)
class Rates:
    """Rates, efforts and forces at an instant; powers are positive into the component.

    Attributes:
        tangent: rates of all states, left-trivialised, (stored,).
        efforts: of all junctions, stored and free, (total,).
        forces: multipliers of the constraints that act on storages, (count,).
        constraint_forces: the multiplier of every component with a constraint that varies, as the
            joint force in frame C2 of a joint [C (28)].
    """

    tangent: Array
    efforts: Array
    forces: Array
    constraint_forces: dict[str, Array]
