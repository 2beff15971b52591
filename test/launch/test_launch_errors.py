# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A mistake in a launch file is shown with file, line and column, and what is accepted."""

from pathlib import Path

import pytest

from vms_ph_dynamics import VmsPhError
from vms_ph_embedded.launch import LaunchError, load


def refusal(file: Path, *arguments: str) -> str:
    with pytest.raises(LaunchError) as caught:
        load(file, arguments)
    assert isinstance(caught.value, VmsPhError)
    return str(caught.value)


@pytest.mark.parametrize(
    ("xml", "line", "column", "says"),
    [
        ("<launch>\n  <nod/>\n</launch>", 2, 3, ["<nod>", "node", "did you mean 'node'"]),
        ("<launch>\n <log\n   mesage='x'/>\n</launch>", 2, 2, ["'mesage'", "message"]),
        ("<launch>\n <log/>\n</launch>", 2, 2, ["<log> lacks", "'message'"]),
        ("<launch><log\n  message='$(vra x)'/></launch>", 1, 9, ["$(vra ...)", "var", "env"]),
        ("<launch><log message='$(var a b c)'/></launch>", 1, 9, ["3 arguments", "$(var NAME"]),
        ("<launch><log message='$(var nope)'/></launch>", 1, 9, ["no variable 'nope'"]),
        ("<launch>\n<group><log message='ü' x='1'/></group></launch>", 2, 8, ["'x'"]),
        ("<launch>\n\n <group>\n</launch>", 4, 3, ["not well-formed", "mismatched tag"]),
        ("<launch>text</launch>", 1, 1, ["'text'", "means nothing"]),
        ("<launhc/>", 1, 1, ["<launhc>", "must be <launch>"]),
        ("<launch><arg name='a'><log/></arg></launch>", 1, 23, ["<arg>; accepted are choice"]),
        ("<launch><log message='x'><log message=''/></log></launch>", 1, 26, ["inside <log>"]),
        ("<launch><log message='' if='1' unless='1'/></launch>", 1, 9, ["'if' and 'unless'"]),
        ("<launch><log message='' if='perhaps'/></launch>", 1, 9, ["'perhaps'", "true, 1, false"]),
        ("<launch><group scoped='$(var x)'/></launch>", 1, 9, ["substitutions are not carried"]),
        ("<launch><timer period='1'/></launch>", 1, 9, ["<timer> is not supported", "group"]),
        ("<launch><executable cmd='a' output='loud'/></launch>", 1, 9, ["'loud'", "screen, log"]),
        ("<launch><executable cmd='a' respawn_delay='-1'/></launch>", 1, 9, ["-1", "negative"]),
        ("<launch><executable cmd='a' on_exit='x'/></launch>", 1, 9, ["on_exit", "shutdown"]),
    ],
)  # fmt: skip
def test_a_mistake_is_located_and_explained(
    xml: str, line: int, column: int, says: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "bad.launch.xml"
    file.write_text(xml)
    message = refusal(file)
    assert message.startswith(f"{file}:{line}:{column}: ")
    for words in says:
        assert words in message


@pytest.mark.parametrize(
    "xml",
    [
        "<set_remap from='a' to='b'/>",
        "<unset_env name='A'/>",
        "<executable cmd='a' cwd='/'/>",
        "<executable cmd='a' shell='true'/>",
        "<node pkg='p' exec='e' exec_name='n'/>",
        "<node pkg='p' exec='e'><param name='a'><param name='b' value='1'/></param></node>",
        "<node pkg='p' exec='e'><param from='f' allow_substs='true'/></node>",
        "<log message='$(anon a)'/>",
        "<log message='$(filename)'/>",
        "<log message='$(file-content a)'/>",
    ],
)
def test_what_only_ros2_launch_reads_says_so(xml: str, write) -> None:
    message = refusal(write(xml))
    assert "accepted are" in message
    assert "a part of what ros2 launch reads, see COVERAGE.md" in message


@pytest.mark.parametrize("attribute", ["output='own_log'", "output='full'"])
def test_a_destination_of_output_that_only_ros2_launch_has_is_refused(
    attribute: str, write
) -> None:
    assert "accepted are screen, log, both" in refusal(write(f"<executable cmd='a' {attribute}/>"))


def test_a_list_of_a_type_is_written_without_the_type(write) -> None:
    inside = "<param name='a' type='list_of_int' value='[1, 2]'/>"
    with pytest.raises(LaunchError, match="accepted are bool, int, float, str"):
        load(write(f"<node pkg='p' exec='e'>{inside}</node>"), resolve=lambda *_: ["true"])


def test_a_mistake_in_a_branch_that_is_not_taken_is_found_too(write) -> None:
    inside = '<param name="a" value="$(nosuch)"/>'
    file = write(f'<group if="false"><node pkg="p" exec="e">{inside}</node></group>')
    assert "$(nosuch ...) is not supported" in refusal(file)


def test_a_mistake_in_an_included_file_is_located_there(write) -> None:
    inner = write("\n<bogus/>", "inner.launch.xml")
    outer = write(f'<include file="{inner}"/>')
    assert refusal(outer).startswith(f"{inner}:2:1: ")


@pytest.mark.parametrize("name", ["nowhere.launch.xml", "."])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    assert str(tmp_path) in refusal(tmp_path / name)


def test_a_missing_included_file_is_blamed_on_the_tag(write) -> None:
    file = write('\n<include file="/nowhere/x.launch.xml"/>')
    message = refusal(file)
    assert message.startswith(f"{file}:2:1: ")
    assert "/nowhere/x.launch.xml" in message


def test_only_xml_can_be_included(write) -> None:
    assert "only *.launch.xml" in refusal(write('<include file="/x/y.launch.py"/>'))


def test_a_file_that_includes_itself_is_refused(write, tmp_path: Path) -> None:
    file = write(f'<include file="{tmp_path}/test.launch.xml"/>')
    assert "includes itself: test.launch.xml -> test.launch.xml" in refusal(file)


def test_a_missing_argument_is_named_with_the_way_to_give_it(write) -> None:
    file = write('<arg name="robot" description="which one"/>')
    message = refusal(file)
    assert "robot:=value" in message
    assert "which one" in message


def test_a_value_that_is_no_choice_is_refused_with_the_choices(write) -> None:
    file = write('<arg name="a"><choice value="x"/><choice value="y"/></arg>')
    assert "'z'; accepted are x, y" in refusal(file, "a:=z")


def test_a_word_that_is_no_argument_is_refused(write) -> None:
    assert "'rate=5' is not of the form name:=value" in refusal(write(""), "rate=5")


def test_an_unknown_executable_of_this_project_lists_those_there_are(write, monkeypatch) -> None:
    modules = {"simulator": "vms_ph_nodes.simulator", "controller": "vms_ph_nodes.controller"}
    monkeypatch.setattr("vms_ph_io.wings.programs", lambda: modules)
    message = refusal(write('<node pkg="vms_ph" exec="simulater"/>'))
    assert (
        "there is no node 'simulater' (did you mean 'simulator'?); there are controller, simulator"
        in message
    )


def test_an_unknown_package_says_where_was_looked(write, monkeypatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    assert "'nope'" in refusal(write('<node pkg="nope" exec="nosuch_program"/>'))
    message = refusal(write('<log message="$(find-pkg-share nope)"/>'))
    assert "AMENT_PREFIX_PATH" in message
    assert "source" in message


def test_a_command_that_fails_shows_what_it_wrote(write) -> None:
    file = write("""<log message="$(command 'sh -c \\'echo oh no >&amp;2; exit 3\\'')"/>""")
    message = refusal(file)
    assert "exit code 3" in message
    assert "oh no" in message


def test_an_expression_beyond_arithmetic_says_what_is_accepted(write) -> None:
    message = refusal(write("""<log message="$(eval '[x for x in y]')"/>"""))
    assert "ListComp" in message
    assert "comparisons" in message


@pytest.mark.parametrize(
    ("xml", "says"),
    [
        ("<launch>" + "<group>" * 5000 + "</group>" * 5000 + "</launch>", "more than 100 deep"),
        (f"<launch><log message='{'$(env ' * 3000}a{')' * 3000}'/></launch>", "more than 50 deep"),
        ("<launch><log message=\"$(eval '9**9**9')\"/></launch>", "at most 8192 are accepted"),
        ("<launch><log message=\"$(eval '[0] * 10**10')\"/></launch>", "at most 8192"),
        ("<launch><log message=\"$(eval '1 &lt;&lt; 10**10')\"/></launch>", "at most 8192"),
        (f"<launch><log message=\"$(eval '{'-' * 50_000}1')\"/></launch>", "at most 4096"),
        (f"<launch><log message=\"$(eval '{'(' * 900}1{')' * 900}')\"/></launch>", "nested"),
    ],
    ids=["tags", "substitutions", "a power", "a product", "a shift", "signs", "parentheses"],
)
def test_what_has_no_end_or_no_bound_is_refused_at_once(
    xml: str, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "bad.launch.xml"
    file.write_text(xml)
    assert says in refusal(file)


def test_a_command_that_cannot_use_a_setting_ends_the_launch_with_its_sentence_alone(
    write, tmp_path: Path
) -> None:
    program = tmp_path / "check.py"
    program.write_text("import sys; print('no such robot', file=sys.stderr); sys.exit(78)")
    file = write(f"""<let name="checked" value="$(command 'python3 {program}')"/>""")
    assert refusal(file) == "no such robot"
