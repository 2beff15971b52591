# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of a robot model: joints and their limits, mimic joints, inertia, links and frames."""

from .building import inertia_defects
from .inertia import InertiaDefect, check_inertia
from .inertia_repair import InertiaMode
from .joints import Base, JointTable
from .kinematic_tree import Edge, Kinematics, KinematicTree, LinkTree
from .mimic import Mimic

__all__ = [
    "Base", "Edge", "InertiaDefect", "InertiaMode", "JointTable", "KinematicTree", "Kinematics",
    "LinkTree", "Mimic", "check_inertia", "inertia_defects",
]  # fmt: skip
