# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From a file to a description: the parts that need no comparison with ROS 2."""

import sys
from pathlib import Path

import pytest
import yaml

from vms_ph_embedded.launch import LaunchError, load, show_arguments
from vms_ph_embedded.launch.description import YamlFile
from vms_ph_io import wings


def resolve(package: str, executable: str) -> list[str]:
    return ["/bin/echo", package, executable]


def test_the_default_command_of_a_node_of_this_project_is_a_python_module(
    write, tmp_path: Path, monkeypatch
) -> None:
    package = tmp_path / "fake_nodes"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "simulator.py").write_text("import rclpy\n\ndef main() -> None: ...\n")
    (package / "helper.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(wings, "NODES", "fake_nodes")
    own = {name for name, module in wings.programs().items() if module.startswith("fake_nodes")}
    assert own == {"simulator"}
    file = write('<node pkg="vms_ph" exec="simulator" name="sim" namespace="lab"/>')
    (process,) = load(file).processes
    assert process.command == (
        sys.executable, "-m", "vms_ph_nodes", "simulator",
        "--ros-args", "-r", "__node:=sim", "-r", "__ns:=/lab",
    )  # fmt: skip
    assert process.name == "simulator-1"
    assert "fake_nodes" not in sys.modules


def test_a_node_of_a_sourced_workspace_is_found_below_its_prefix(write, tmp_path: Path) -> None:
    program = tmp_path / "lib/talkers/talker"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    index = tmp_path / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    (index / "talkers").touch()
    (tmp_path / "share/talkers").mkdir()
    file = write(
        f'<set_env name="AMENT_PREFIX_PATH" value="{tmp_path}"/>'
        '<node pkg="talkers" exec="talker"/><log message="$(find-pkg-share talkers)"/>'
    )
    description = load(file)
    assert description.processes[0].command[0] == str(program)
    assert description.messages == (str(tmp_path / "share/talkers"),)


def test_parameters_keep_their_types_on_the_way_to_the_node(write) -> None:
    file = write(
        """<node pkg="p" exec="e" name="n" namespace="/a">
             <param name="flag" value="true"/>
             <param name="word" value="true" type="str"/>
             <param name="digit" value="1" type="str"/>
             <param name="gains" value="[1.0, 2.5]"/>
             <param name="tiny" value="1e-6"/>
             <param name="deep.er" value="3"/>
           </node>"""
    )
    (process,) = load(file, resolve=resolve).processes
    (parameters,) = [word for word in process.command if isinstance(word, YamlFile)]
    assert yaml.safe_load(parameters.text) == {
        "/a/n": {
            "ros__parameters": {
                "flag": True,
                "word": "true",
                "digit": "1",
                "gains": [1.0, 2.5],
                "tiny": 1e-6,
                "deep.er": 3,
            }
        }
    }


@pytest.mark.parametrize("written", ["[1, 2.5]", "$(var mixed)", "[1, $(var ones)]"])
def test_a_list_of_mixed_types_is_refused(written: str, write) -> None:
    variables = '<let name="mixed" value="[1, 2.5]"/><let name="ones" value="[1]"/>'
    node = f'<node pkg="p" exec="e"><param name="a" value="{written}"/></node>'
    with pytest.raises(LaunchError, match="mixed types"):
        load(write(variables + node), resolve=resolve)


def test_a_folder_name_with_a_space_stays_one_word(write) -> None:
    file = write('<arg name="out"/><executable cmd="tool --out $(var out)/x -v"/>')
    (process,) = load(file, {"out": "/my data"}).processes
    assert process.command == ("tool", "--out", "/my data/x", "-v")


def test_an_argument_that_no_file_declares_is_an_error_with_the_nearest_name(write) -> None:
    file = write('<arg name="rate" default="1"/>')
    with pytest.raises(LaunchError, match=r"the argument 'rat' \(did you mean 'rate'\?\)"):
        load(file, ["rat:=2"])
    assert load(file, ["rate:=2"]).warnings == ()


def test_an_argument_of_a_file_that_a_condition_leaves_out_may_be_given(
    write, tmp_path: Path
) -> None:
    inner = tmp_path / "inner.launch.xml"
    inner.write_text('<launch><arg name="port" default="1"/></launch>')
    file = write(f'<arg name="web" default="false"/><include file="{inner}" if="$(var web)"/>')
    assert load(file, ["port:=2"]).warnings == ()
    with pytest.raises(LaunchError, match="did you mean 'port'"):
        load(file, ["prt:=2"])


def test_two_nodes_of_one_name_give_a_warning(write) -> None:
    node = '<node pkg="p" exec="e" name="n" namespace="/a"/>'
    assert "a second node is named /a/n" in load(write(node * 2), resolve=resolve).warnings[0]


def test_loading_changes_neither_the_environment_nor_the_file_system(
    write, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    file = write(
        '<set_env name="VMS_PH_TEST" value="1"/>'
        '<node pkg="p" exec="e"><param name="a" value="1"/></node>'
    )
    before = sorted(tmp_path.iterdir())
    (process,) = load(file, resolve=resolve).processes
    assert process.environment["VMS_PH_TEST"] == "1"
    assert "VMS_PH_TEST" not in __import__("os").environ
    assert sorted(tmp_path.iterdir()) == before


def test_the_listing_of_arguments_shows_choices_defaults_and_those_of_included_files(write) -> None:
    inner = write('<arg name="inner" default="$(var robot)/x"/>', "inner.launch.xml")
    file = write(
        f"""<arg name="robot" description="Which robot."><choice value="panda"/></arg>
            <group if="$(var robot)"><arg name="rate" default="100"/></group>
            <include file="{inner}"/><include file="$(var robot)/unknown.launch.xml"/>"""
    )
    assert show_arguments(file).splitlines() == [
        "Arguments (pass arguments as '<name>:=<value>'):",
        "",
        "    'robot':",
        "        Which robot. Valid choices are: ['panda']",
        "",
        "    'rate':*",
        "        no description given",
        "        (default: '100')",
        "",
        "    'inner':",
        "        no description given",
        "        (default: '$(var robot)/x')",
        "",
        "* argument(s) which are only used if specific conditions occur",
    ]
