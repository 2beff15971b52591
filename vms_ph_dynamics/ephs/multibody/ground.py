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

"""The ground."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...arrays import Array, frozen
from ..components import Reversible
from ..patterns import power
from ..quantities import SE3_SPACE, momentum_of


class Ground(Reversible):
    """A body that does not move: ``0 = u``; the multiplier is the reaction wrench.

    Args:
        pose: (4,4) of its frame in the inertial frame; the identity when None.
    """

    def __init__(self, pose: Array | None = None) -> None:
        fixed = frozen(np.eye(4) if pose is None else np.array(pose, dtype=np.float64))
        super().__init__({"p": power(momentum_of(SE3_SPACE))}, constraint=np.eye(6))
        self.fixes = ("p", fixed)

    def described(self) -> Mapping[str, Any]:
        """Return its pose."""
        return {"kind": "ground", "pose": self.fixes[1]}
