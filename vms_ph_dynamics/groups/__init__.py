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

"""Lie groups of rigid motion, shared by forms, integrators, decoupling and EPHS."""

from .base import base_group
from .group import Group
from .joints import FloatingJoint, Joint, PlanarJoint, PrismaticJoint, RevoluteJoint
from .planar import SE2, SO2
from .se3 import SE3, pose
from .so3 import SO3, skew
from .so3_times_r3 import SO3TimesR3

__all__ = [
    "SE2",
    "SE3",
    "SO2",
    "SO3",
    "FloatingJoint",
    "Group",
    "Joint",
    "PlanarJoint",
    "PrismaticJoint",
    "RevoluteJoint",
    "SO3TimesR3",
    "base_group",
    "pose",
    "skew",
]
