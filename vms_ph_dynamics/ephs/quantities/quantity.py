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
