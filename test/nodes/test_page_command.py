"""vms-ph page: another robot is chosen by a topic, and the launch begins anew with it."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.cli.app import make_app

from .conftest import Start, environment

# Runs a command for every chosen robot that writes its name and waits.
_SUPERVISE = """
import sys
from vms_ph_nodes.cli.page import supervise
body = "import sys, signal, time; signal.signal(signal.SIGINT, lambda *_: sys.exit(0));" \\
    "print('shown', sys.argv[1], flush=True); time.sleep(60)"
if sys.argv[1] == "fails":
    body = "import sys; sys.exit(7)"
sys.exit(supervise("panda", lambda name: [sys.executable, "-c", body, name]))
"""


@pytest.mark.wire
def test_a_chosen_robot_replaces_the_present_one(start: Start, domain: int) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _SUPERVISE, "waits"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(domain),
    )  # fmt: skip
    assert program.stdout is not None
    try:
        assert program.stdout.readline() == "shown panda\n"
        for name in ("no_robot", "hextilt"):
            words = ("/vms_ph/robot", "std_msgs/msg/String", f"{{data: {name}}}")
            published = start("topic", "pub", "--once", *words)
            published.await_output("publishing")
        lines = [program.stdout.readline() for _ in range(2)]
        assert any("no bundled robot 'no_robot'" in line for line in lines)
        assert lines[-1] == "shown hextilt\n"
    finally:
        program.terminate()
        with program.stdout:
            assert program.wait(30.0) == 0


@pytest.mark.wire
def test_a_launch_that_ends_by_itself_ends_the_command(domain: int) -> None:
    words = [sys.executable, "-c", _SUPERVISE, "fails"]
    done = subprocess.run(words, timeout=60.0, check=False, env=environment(domain))
    assert done.returncode == 7


def test_an_unknown_robot_is_refused_with_the_names_of_the_others(tmp_path: Path) -> None:
    done = CliRunner().invoke(make_app(), ["page", str(tmp_path)])
    assert isinstance(done.exception, VmsPhError)
    assert "hextilt" in str(done.exception)
