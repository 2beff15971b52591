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

"""Symbolic dynamics of planar robots with sympy: the toolbox of [B, appendix A.2].

It needs the extra ``pip install 'vms-ph[symbolic]'``.
"""

try:
    import sympy  # noqa: F401
except ImportError:
    raise ImportError(
        "vms_ph_dynamics.symbolic needs sympy: pip install 'vms-ph[symbolic]'"
    ) from None

from .code import numeric, source
from .hoppers import SymbolicHopper, prismatic_hopper, revolute_frame_angle, revolute_hopper
from .motion import Motion
from .planar import (
    LinearPart,
    LinkInertia,
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
from .robot import Link, SymbolicRobot

__all__ = [
    "LinearPart",
    "Link",
    "LinkInertia",
    "Motion",
    "SymbolicHopper",
    "SymbolicRobot",
    "adjoint",
    "coefficients",
    "frame_angle",
    "frame_orientation",
    "frame_origin",
    "inverse",
    "link_inertia",
    "matrix_of",
    "numeric",
    "pose",
    "prismatic_hopper",
    "revolute_frame_angle",
    "revolute_hopper",
    "rotation",
    "row12",
    "small_adjoint",
    "source",
]
