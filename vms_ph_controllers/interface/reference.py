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

"""The reference of a controller."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array, is_finite


@dataclass(frozen=True, slots=True)
class Reference:
    """The desired motion; a field that is None keeps its previous target.

    Attributes:
        position: (3,) of the end effector in the inertial frame, m.
        velocity: (3,) in the inertial frame, m/s; the reference position moves with it.
        pose: (4,4) of the base or of the end effector, whichever the law controls, in the frame in
            which the law holds it.
        twist: (6,) in the axes of the reference pose, linear first, m/s and rad/s;
            the reference moves with it.
        joints: (n,) positions, rad or m.
        wrench: (6,) that the end effector is to exert on its surroundings, in inertial axes at its
            origin, linear first, N and N m.
    """

    position: Array | None = None
    velocity: Array | None = None
    pose: Array | None = None
    twist: Array | None = None
    joints: Array | None = None
    wrench: Array | None = None


def usable(value: Array | None, shape: tuple[int, ...]) -> Array | None:
    """Return a field of a reference if it has this shape and is finite, None otherwise."""
    if value is None or np.shape(value) != shape:
        return None
    # Numbers whose sum is not finite may be.
    finite = is_finite(np.asarray(value).reshape(-1)) or np.isfinite(value).all()
    return value if finite else None
