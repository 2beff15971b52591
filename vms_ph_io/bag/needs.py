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

"""Check for the packages that bags require and that no ROS distribution provides."""

from importlib.util import find_spec

from vms_ph_io.bag.errors import BagError

_PACKAGES = ("mcap", "rosbags")


def require_packages() -> None:
    """Raise a `BagError` with the command to install missing packages, if there are any."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise BagError(
            f"bags are read and written with the Python packages {' and '.join(_PACKAGES)}; "
            f"missing here: {', '.join(missing)}. `python3 -m pip install {' '.join(missing)}` "
            "brings what is missing; `ros2 bag` does without"
        )
