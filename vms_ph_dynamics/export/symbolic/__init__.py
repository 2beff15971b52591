# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Symbolic dynamics of planar robots with sympy: the toolbox of [B, appendix A.2].

It needs the extra ``pip install 'vms-ph[symbolic]'``.
"""

try:
    import sympy  # noqa: F401
except ImportError:
    raise ImportError(
        "vms_ph_dynamics.export.symbolic needs sympy: pip install 'vms-ph[symbolic]'"
    ) from None

from .planar import (
    LinearPart,
    LinkInertia,
    Motion,
    adjoint,
    coefficients,
    frame_angle,
    frame_orientation,
    frame_origin,
    inverse,
    link_inertia,
    matrix_of,
    pose,
    rotation,
    row12,
    small_adjoint,
)
from .robot import (
    Link,
    SymbolicHopper,
    SymbolicRobot,
    numeric,
    prismatic_hopper,
    revolute_frame_angle,
    revolute_hopper,
    source,
)

__all__ = [
    "LinearPart", "Link", "LinkInertia", "Motion", "SymbolicHopper", "SymbolicRobot", "adjoint",
    "coefficients", "frame_angle", "frame_orientation", "frame_origin", "inverse", "link_inertia",
    "matrix_of", "numeric", "pose", "prismatic_hopper", "revolute_frame_angle", "revolute_hopper",
    "rotation", "row12", "small_adjoint", "source",
]  # fmt: skip
