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

"""Studies and benchmarks import no ROS and install no import hook."""

import subprocess
import sys

IMPORTS = """
import sys
import pkgutil, importlib, vms_ph_studies
for module in pkgutil.walk_packages(vms_ph_studies.__path__, "vms_ph_studies."):
    importlib.import_module(module.name)
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
