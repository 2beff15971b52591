# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Small commands: version, environment, plot."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError, __version__
from vms_ph_nodes.cli.app import make_app


def test_the_version_is_printed() -> None:
    done = CliRunner().invoke(make_app(), ["--version"])
    assert (done.exit_code, done.output.strip()) == (0, f"vms-ph {__version__}")


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_the_small_matrices_of_nodes_are_not_shared_among_threads() -> None:
    # Of numpy, whose threads begin when it is imported; a setting of the user stays.
    program = "import vms_ph_nodes, numpy, os; print(len(os.listdir('/proc/self/task')))"
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_the_environment_is_a_line_for_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vms_ph_embedded")  # beside a ROS 2 there is nothing to export
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    done = CliRunner().invoke(make_app(), ["env"])
    assert done.stdout.startswith("export ROS_DOMAIN_ID=7 ")
    # The shell evaluates stdout alone.
    assert done.stdout.count("\n") == 1
    assert done.stderr.startswith("the C++ core ")


def test_beside_a_ros_2_there_is_no_environment_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vms_ph_io.wings.find_spec", lambda name: None)
    done = CliRunner().invoke(make_app(), ["env"])
    assert isinstance(done.exception, VmsPhError)
    assert "see them already" in str(done.exception)


def test_a_plot_of_what_is_no_bag_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(make_app(), ["plot", str(tmp_path)])
    assert done.exit_code != 0
