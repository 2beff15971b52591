# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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
