# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors where the packages for bags are not installed, as with ROS 2 and rosdep."""

import re
import subprocess
import sys

import pytest

ABSENT = "import sys; sys.modules[{name!r}] = None; "


def run(name: str, code: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", ABSENT.format(name=name) + code]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


INFO = "sys.argv = ['vms-ph', 'bag', 'info', 'x']; from vms_ph_nodes.cli import main; main()"


# Without ROS 2 the message classes come from rosbags, so that every node requires it.
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("mcap", INFO),
        ("rosbags", INFO),
        ("mcap", "from vms_ph_nodes.bag_recorder import main; main()"),
        ("mcap", "from vms_ph_nodes.bag_player import main; main()"),
    ],
)
def test_a_missing_package_is_reported_with_the_command_to_install_it(name: str, code: str) -> None:
    done = run(name, code)
    assert done.returncode == 1
    assert re.search(f"pip install [^`]*{name}[ `]", done.stderr)
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
