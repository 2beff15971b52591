# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""URDF and xacro files: reading, checks and visual shapes."""

from .checks import Findings, UrdfWarning, check_urdf, require_sound
from .loading import load_urdf, read_urdf

__all__ = ["Findings", "UrdfWarning", "check_urdf", "load_urdf", "read_urdf", "require_sound"]
