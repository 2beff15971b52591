# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Commands without an extra of this package that they require."""

import subprocess
import sys

import pytest
import rclpy

# A real ROS 2 has its own middleware.
embedded = pytest.mark.skipif(
    "vms_ph_embedded" not in (rclpy.__file__ or ""), reason="only the embedded runtime needs it"
)
needed = "needs the package cyclonedds: pip install 'vms-ph[e"

WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from vms_ph_nodes.cli import main
main()
"""


@pytest.mark.parametrize(
    ("missing", "command", "said"),
    [
        pytest.param("cyclonedds", ("topic", "list"), needed, marks=embedded),
        pytest.param(
            "cyclonedds", ("run", "simulator"), needed, marks=[embedded, pytest.mark.slow]
        ),
        pytest.param("cyclonedds", ("launch", "panda"), needed, marks=embedded),
        ("viser", ("run", "web_viewer"), "the web page requires viser: pip install 'vms-ph[web]'"),
    ],
)
def test_a_command_reports_the_missing_extra(
    missing: str, command: tuple[str, ...], said: str
) -> None:
    words = [sys.executable, "-c", WITHOUT, missing, *command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_shapes_need_none_of_the_packages_for_bags() -> None:
    code = "import sys; sys.modules |= dict.fromkeys(('lz4', 'mcap', 'rosbags', 'zstandard'))\n"
    code += "from vms_ph_io.descriptions.robot_shapes import robot_shapes; print(robot_shapes)"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
