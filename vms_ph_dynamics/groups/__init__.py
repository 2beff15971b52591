# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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
