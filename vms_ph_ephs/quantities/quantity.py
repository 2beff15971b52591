# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Physical quantities: a name and the space of its values [C 2]."""

from dataclasses import dataclass

from .space import Dual, R, Space


@dataclass(frozen=True)
class Quantity:
    """A quantity that ports exchange, identified by space and name.

    Attributes:
        space: space of its values.
        name: as in "momentum".
    """

    space: Space
    name: str

    def __str__(self) -> str:
        return f"({self.space.name}, {self.name})"


displacement = Quantity(R, "displacement")
momentum = Quantity(R, "momentum")
entropy = Quantity(R, "entropy")
charge = Quantity(R, "charge")  # C; its effort is a voltage and its flow a current
flux = Quantity(R, "flux")  # V s; its effort is a current and its flow a voltage
signal = Quantity(R, "signal")  # without energy, as a duty cycle


def pose_of(space: Space) -> Quantity:
    """Return the quantity pose in a group."""
    return Quantity(space, "pose")


def momentum_of(space: Space) -> Quantity:
    """Return the quantity momentum: its values are in the dual of the tangent space."""
    return Quantity(Dual(space), "momentum")


def relative_pose_of(space: Space) -> Quantity:
    """Return the quantity relative pose in a subgroup."""
    return Quantity(space, "relative_pose")
