# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph page: another robot is chosen by a topic, and the launch begins anew with it."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from std_msgs.msg import String
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_io import robots
from vms_ph_io.settings import scenes
from vms_ph_nodes.check_settings import choices
from vms_ph_nodes.cli.app import make_app
from vms_ph_nodes.views.commands import CHOICE_TOPICS, Request

from .conftest import environment
from .observer import Observer

# Runs a command for every chosen robot that writes its name and waits.
_SUPERVISE = """
import sys
from vms_ph_nodes.check_settings import choices
from vms_ph_nodes.cli.page import Choice, supervise
body = "import sys, signal, time; signal.signal(signal.SIGINT, lambda *_: sys.exit(0));" \\
    "print('shown', *sys.argv[1:], flush=True);" \\
    "sys.exit(7) if sys.argv[1] in ('baxter', 'fails') else time.sleep(60)"
offered = choices({"laws": sys.argv[2] if len(sys.argv) > 2 else ""})
command = lambda choice: [sys.executable, "-c", body, *choice[:3]]
sys.exit(supervise(Choice(sys.argv[1]), command, offered))
"""

# A law that says that its file was run.
_LAW = """
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
from vms_ph_controllers import CartesianImpedance as Mine
"""


@pytest.mark.wire
def test_a_chosen_robot_or_law_replaces_the_present_one(
    observer: Observer, domain: int, tmp_path: Path
) -> None:
    named, other = tmp_path / "named.py", tmp_path / "other.py"
    for file in (named, other):
        file.write_text(_LAW)
    laws = f"vms_ph_hopping:HoppingController,{named}:Mine"
    program = subprocess.Popen(
        [sys.executable, "-c", _SUPERVISE, "panda", laws],
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
        for nothing in ("no_robot", "", str(tmp_path / "arm.xacro"), "../panda", "x\n" * 1000):
            assert "there is no robot" in choose("/vms_ph/choose/robot", nothing)
        # No file and no module is run that was not named when the command was started.
        for nothing in (f"{other}:Mine", f"{named}:Other", "os:system", "this", "Command", "auto"):
            assert "there is no law" in choose("/vms_ph/choose/law", nothing)
        assert not [*tmp_path.glob("*.ran")]
        law = f"{named}:Mine"
        assert choose("/vms_ph/choose/law", law) == f"shown panda {law} \n"
        assert [*tmp_path.glob("*.ran")] == [named.with_suffix(".ran")]
        assert "a leg is" in choose("/vms_ph/choose/law", "vms_ph_hopping:HoppingController")
        assert (
            choose("/vms_ph/choose/law", "CartesianImpedance")
            == "shown panda CartesianImpedance \n"
        )
        assert "there is no scene" in choose("/vms_ph/choose/scene", "nowhere")
        both = "shown panda CartesianImpedance wall\n"
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


@pytest.mark.parametrize("word", ["laws", "--law", "web:=true", "controller:=auto", "port:=1"])
def test_an_argument_that_is_none_of_the_launch_is_refused(word: str) -> None:
    done = CliRunner().invoke(make_app(), ["page", "panda", "--", word])
    assert isinstance(done.exception, VmsPhError)
    assert "as name:=value; given" in str(done.exception)


def test_what_is_named_at_the_start_can_be_chosen_and_nothing_else() -> None:
    named = choices(
        {"robot": "arm.urdf", "robots": "b.urdf, arm.urdf", "laws": "a.py:Law", "scene": ""}
    )
    assert named["robot"][:2] == ("arm.urdf", "b.urdf")
    assert {*named["robot"][2:]} == {*robots.names()}
    assert named["law"][0] == "a.py:Law"
    assert "CartesianImpedance" in named["law"]
    assert not {"Command", "Controller", "gain", "EnergyTank"} & {*named["law"]}
    assert named["scene"] == tuple(scenes.names())


def test_a_value_that_is_not_in_the_list_of_the_page_loads_nothing(tmp_path: Path) -> None:
    viser = pytest.importorskip("viser")
    from vms_ph_nodes.views.controls import Choices, Panel

    law, chosen = tmp_path / "other.py", list[tuple[str, str]]()
    law.write_text(_LAW)
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)

    def choose(choice: str, name: str) -> Request:
        chosen.append((choice, name))
        return Request("", lambda reply: None)

    commands: Any = SimpleNamespace(choose=choose)
    fields: dict[str, Any] = {}
    add = server.gui.add_dropdown
    server.gui.add_dropdown = lambda name, *given, **options: fields.setdefault(
        name, add(name, *given, **options)
    )
    try:
        tab = server.gui.add_folder("tab")
        panel = Panel(server, tab, commands, robots.load("panda"))
        Choices(panel, {"robot": "panda"}, None, tuple(CHOICE_TOPICS))
        for choice, name in (("law", f"{law}:Mine"), ("robot", str(law)), ("scene", "/etc/passwd")):
            fields[choice].value = name  # as a program may send it
        assert not chosen
        assert not [*tmp_path.glob("*.ran")]
        fields["law"].value = "PoseIDAPBC"
        assert chosen == [("law", "PoseIDAPBC")]
        assert "AttitudeControl" not in fields["law"].options  # it is for another base
    finally:
        server.stop()
