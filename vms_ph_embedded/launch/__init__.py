# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Launch files in XML without ROS 2, with the semantics of ``ros2 launch``.

``load`` turns a file and its arguments into a description, which is plain data; a ``Launcher`` runs
a description.
"""

from vms_ph_embedded.launch.description import LaunchDescription, ProcessDescription
from vms_ph_embedded.launch.errors import LaunchError
from vms_ph_embedded.launch.launcher import Launcher
from vms_ph_embedded.launch.loading import declared_arguments, load, parse_arguments, show_arguments
from vms_ph_embedded.launch.process import ProcessStatus, State

__all__ = [
    "LaunchDescription",
    "LaunchError",
    "Launcher",
    "ProcessDescription",
    "ProcessStatus",
    "State",
    "declared_arguments",
    "load",
    "parse_arguments",
    "show_arguments",
]
