# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Files that nodes and launch files make for a user."""

import tempfile
from pathlib import Path

from vms_ph_io.installation import ros_home


def write_user_file(name: str, text: str) -> Path:
    """Write a file into the folder of ROS in the home of the user; return its path."""
    home = ros_home() / "vms_ph"
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
