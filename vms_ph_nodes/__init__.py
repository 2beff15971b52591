"""The ROS nodes and the vms-ph command line.

Importing this package decides the runtime: a ROS 2 that is importable is used as it is; where there
is none, the embedded one takes its place. (A colcon build leaves the embedded one out.)
"""

import importlib.util

if importlib.util.find_spec("vms_ph_embedded") is not None:
    from vms_ph_embedded.activation import activate
    from vms_ph_io.share import share_directory

    activate(share_directory())
