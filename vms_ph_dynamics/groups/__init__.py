# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Lie groups of rigid motion, shared by forms, integrators and EPHS."""

from .group import Group
from .planar import SE2, base_group, plane_rotation
from .spatial import SE3, SO3, adjoints, cross, pose, skew

__all__ = [
    "SE2", "SE3", "SO3", "Group", "adjoints", "base_group", "cross", "plane_rotation", "pose",
    "skew",
]  # fmt: skip
