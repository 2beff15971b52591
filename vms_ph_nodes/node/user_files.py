# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Files that nodes and launch files make for a user."""

import os
import tempfile
from pathlib import Path


def write_user_file(name: str, text: str) -> Path:
    """Write a file into the folder of ROS in the home of the user; return its path."""
    home = Path(os.environ.get("ROS_HOME") or Path.home() / ".ros") / "vms_ph"
    try:
        home.mkdir(parents=True, exist_ok=True)
        # Another launch may read the file at the same time.
        with tempfile.NamedTemporaryFile("w", dir=home, delete=False) as new:
            new.write(text)
        file = Path(new.name).replace(home / name)
    except OSError:  # no home, or one that is not writable
        file = Path(tempfile.mkdtemp()) / name
        file.write_text(text)
    return file
