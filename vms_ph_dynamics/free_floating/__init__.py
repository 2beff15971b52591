# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Free-floating robots at zero momentum: closed loops of the joints, reorientation, capture."""

from .capture import Body, Capture, capture, carrying
from .reorientation import (
    EllipticLoop,
    JointMotion,
    Reorientation,
    base_motion,
    holonomy,
    plan_reorientation,
    turn_by_curvature,
)

__all__ = [
    "Body", "Capture", "EllipticLoop", "JointMotion", "Reorientation", "base_motion", "capture",
    "carrying", "holonomy", "plan_reorientation", "turn_by_curvature",
]  # fmt: skip
