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

"""States of a port-Hamiltonian system and their rates."""

from dataclasses import dataclass
from typing import NamedTuple

from ..arrays import Array


@dataclass(frozen=True, slots=True)
class PHState:
    """A configuration and the momenta of a form.

    Attributes:
        q: (nq,) configuration, m and rad.
        z: (nv,) momenta, stacked as defined by the form, N s and N m s.
    """

    q: Array
    z: Array


class PHRate(NamedTuple):
    """The time derivative of a :class:`PHState`.

    Attributes:
        qdot: (nv,) velocity, base part in the base frame, m/s and rad/s.
        zdot: (nv,) rate of the momenta, N and N m.
    """

    qdot: Array
    zdot: Array
