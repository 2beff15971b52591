# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph page: another robot is chosen by a topic, and the launch begins anew with it."""

import subprocess
import sys

import pytest
from std_msgs.msg import String
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_nodes.cli.app import make_app

from .conftest import environment
from .observer import Observer

# Runs a command for every chosen robot that writes its name and waits.
_SUPERVISE = """
import sys
from vms_ph_nodes.cli.page import Choice, supervise
body = "import sys, signal, time; signal.signal(signal.SIGINT, lambda *_: sys.exit(0));" \\
    "print('shown', *sys.argv[1:], flush=True);" \\
    "sys.exit(7) if sys.argv[1] in ('baxter', 'fails') else time.sleep(60)"
sys.exit(supervise(Choice(sys.argv[1]), lambda choice: [sys.executable, "-c", body, *choice]))
"""


@pytest.mark.wire
def test_a_chosen_robot_or_law_replaces_the_present_one(observer: Observer, domain: int) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _SUPERVISE, "panda"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(domain),
    )  # fmt: skip
    assert program.stdout is not None
    topics = {
        topic: observer.node.create_publisher(String, topic, 10)
        for topic in ("/vms_ph/choose/robot", "/vms_ph/choose/law", "/vms_ph/choose/scene")
    }
    observer.until(
        lambda: all(each.get_subscription_count() for each in topics.values()), "topics", 90.0
    )

    def choose(topic: str, name: str) -> str:
        topics[topic].publish(String(data=name))
        assert program.stdout is not None
        return program.stdout.readline()

    try:
        assert program.stdout.readline() == "shown panda  \n"
        assert "no_robot" in choose("/vms_ph/choose/robot", "no_robot")
        assert "a leg is" in choose("/vms_ph/choose/law", "vms_ph_hopping:HoppingController")
        assert (
            choose("/vms_ph/choose/law", "EndEffectorImpedance")
            == "shown panda EndEffectorImpedance \n"
        )
        assert "no scene" in choose("/vms_ph/choose/scene", "nowhere")
        both = "shown panda EndEffectorImpedance wall\n"
        assert choose("/vms_ph/choose/scene", "wall") == both
        # Another robot has its own law, and stands alone; one that fails is left again.
        assert choose("/vms_ph/choose/robot", "baxter") == "shown baxter  \n"
        assert "failed" in program.stdout.readline()
        assert program.stdout.readline() == both
    finally:
        program.terminate()
        with program.stdout:
            assert program.wait(30.0) == 0


@pytest.mark.wire
def test_a_launch_that_ends_by_itself_ends_the_command(domain: int) -> None:
    words = [sys.executable, "-c", _SUPERVISE, "fails"]
    done = subprocess.run(words, timeout=60.0, check=False, env=environment(domain))
    assert done.returncode == 7


def test_an_unknown_robot_is_refused_with_the_names_of_the_others() -> None:
    done = CliRunner().invoke(make_app(), ["page", "no_robot"])
    assert isinstance(done.exception, VmsPhError)
    assert "hextilt" in str(done.exception)
