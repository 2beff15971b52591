# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ROS nodes and the vms-ph command line.

Every module at this level is an executable: a node, two nodes in one process (closed_loop), or a
program for launch files (describe, check_settings, scene_model, task_settings, rviz_config). The
folders hold what the executables share:

- ``messages``: conversion between ROS messages and arrays, energies and text;
- ``node``: parts of every node: process, life cycle, parameters, diagnostics;
- ``topics``: what a node receives: the motion of its robot, references, trajectories;
- ``simulation``: the engine of the simulator and what it publishes;
- ``views``: markers, and the web page;
- ``cli``: the commands of vms-ph.

Importing this package selects the runtime: an installed ROS 2 if it can be imported, otherwise the
embedded runtime. (A colcon build does not install the embedded runtime.)
"""

import os
import signal
import sys

if sys.argv[:1] == ["-m"]:
    # Ctrl-C during the imports of python -m vms_ph_nodes NODE ends the process without a
    # traceback. The running node installs its own signal handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

# Before numpy is imported. Matrices here are small: the OpenBLAS of numpy 1.26 (Ubuntu 24.04)
# shares an 8 x 8 solve among threads, and on a busy machine waits milliseconds for them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from vms_ph_io.installation import share_directory
from vms_ph_io.wings import WINGS, hook

if WINGS["embedded"].is_installed:
    hook("embedded", "activation").activate(share_directory())
