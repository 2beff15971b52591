# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of a robot model: joints and their limits, mimic joints, inertia, links and frames."""

from .building import inertia_defects
from .inertia import check_inertia
from .inertia_defects import InertiaDefect
from .inertia_modes import InertiaMode
from .joint_table import JointTable
from .joints import Base
from .kinematic_tree import KinematicTree
from .kinematics import Kinematics
from .links import Edge, LinkTree
from .mimic import Mimic

__all__ = [
    "Base",
    "Edge",
    "InertiaDefect",
    "InertiaMode",
    "JointTable",
    "KinematicTree",
    "Kinematics",
    "LinkTree",
    "Mimic",
    "check_inertia",
    "inertia_defects",
]
