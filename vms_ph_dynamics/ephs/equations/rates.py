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

"""The rates, efforts and constraint forces of a system at a state."""

from dataclasses import dataclass

from ...arrays import Array


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
