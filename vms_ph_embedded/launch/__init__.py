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
