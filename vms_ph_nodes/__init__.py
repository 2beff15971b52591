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

"""The ROS nodes and the vms-ph command line.

Every module at this level is an executable: a node, two nodes in one process (closed_loop), or a
program for launch files (describe, check_settings, scene_model). The folders hold what the
executables share:

- ``messages``: conversion between ROS messages and arrays, energies and text;
- ``node``: parts of every node: process, life cycle, parameters, diagnostics;
- ``robot``: the robot of a node: its description, state, topics, references and external efforts;
- ``views``: markers, scenes of the web page, the live view of the terminal;
- ``model_service``: the services of model_server, and their client;
- ``cli``: the commands of vms-ph, one file each.

Importing this package selects the runtime: an installed ROS 2 if it can be imported, otherwise the
embedded runtime. (A colcon build does not install the embedded runtime.)
"""

import importlib.util
import signal
import sys

if sys.argv[:1] == ["-m"]:
    # Ctrl-C during the imports of python -m vms_ph_nodes.<node> ends the process without a
    # traceback. The running node installs its own signal handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

if importlib.util.find_spec("vms_ph_embedded") is not None:
    from vms_ph_embedded.activation import activate
    from vms_ph_io.share import share_directory

    activate(share_directory())
