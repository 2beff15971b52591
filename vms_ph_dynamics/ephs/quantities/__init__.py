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

"""Physical quantities and the spaces of their values."""

from .quantity import (
    Quantity,
    charge,
    displacement,
    entropy,
    flux,
    momentum,
    momentum_of,
    pose_of,
    relative_pose_of,
    signal,
)
from .space import (
    SE2_SPACE,
    SE3_SPACE,
    SO3_SPACE,
    SO3_TIMES_R3_SPACE,
    Dual,
    Euclidean,
    LieGroup,
    R,
    Space,
)

__all__ = [
    "SE2_SPACE",
    "SE3_SPACE",
    "SO3_SPACE",
    "SO3_TIMES_R3_SPACE",
    "Dual",
    "Euclidean",
    "LieGroup",
    "Quantity",
    "R",
    "Space",
    "charge",
    "displacement",
    "entropy",
    "flux",
    "momentum",
    "momentum_of",
    "pose_of",
    "relative_pose_of",
    "signal",
]
