# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies and benchmarks import no ROS and install no import hook."""

import subprocess
import sys

IMPORTS = """
import sys
import importlib, pathlib, vms_ph_studies
folder = pathlib.Path(vms_ph_studies.__file__).parent
for file in sorted(folder.rglob("*.py")):
    parts = file.relative_to(folder.parent).with_suffix("").parts
    if parts[1] != "commands":  # those of the command line, which is one of nodes
        importlib.import_module(".".join(parts).removesuffix(".__init__"))
from vms_ph_studies import studies
from vms_ph_studies.benchmarks import benchmarks
studies(), benchmarks()
ros = ("vms_ph_nodes", "vms_ph_embedded", "rclpy", "cyclonedds")
print([name for name in sys.modules if name.partition(".")[0] in ros])
print([hook for hook in sys.meta_path if getattr(hook, "__module__", "").startswith("vms_ph_")])
"""


def test_every_module_is_imported_without_ros_and_without_an_import_hook() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.splitlines() == ["[]", "[]"]
