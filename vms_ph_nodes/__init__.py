"""The ROS nodes and the vms-ph command line.

Every module at this level is an executable: a node, two nodes in one process (closed_loop), or a
program for launch files (describe). The folders hold what the executables share:

- ``messages``: conversion between ROS messages and arrays, energies and text;
- ``node``: parts of every node: process, life cycle, parameters, diagnostics;
- ``robot``: the robot of a node: its description, state, topics, references and external efforts;
- ``views``: markers, scenes of the web page, the live view of the terminal;
- ``model_service``: the services of model_server, and their client;
- ``cli``: the commands of vms-ph, one file each.

Importing this package decides the runtime: a ROS 2 that is importable is used as it is; where there
is none, the embedded one takes its place. (A colcon build leaves the embedded one out.)
"""

import importlib.util
import signal
import sys

if sys.argv[:1] == ["-m"]:
    # A node as a program, python -m vms_ph_nodes.<node>: Ctrl-C while it still imports ends it
    # without a traceback. Once it runs it has a handler of its own.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

if importlib.util.find_spec("vms_ph_embedded") is not None:
    from vms_ph_embedded.activation import activate
    from vms_ph_io.share import share_directory

    activate(share_directory())
