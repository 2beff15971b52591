# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Launch files and their arguments; the files that they include; parameter files of nodes."""

# ruff: noqa: E501  inputs as they are

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from fuzz.surface import Surface
from rclpy._arguments import parameters_of, parse
from rclpy.exceptions import RCLError

from vms_ph_dynamics import VmsPhError
from vms_ph_embedded.launch import load, show_arguments
from vms_ph_io import share_directory

_LAUNCH = """<launch>
<arg name="robot" default="panda" description="name"><choice value="panda"/></arg>
<arg name="rate" default="100.0"/>
<let name="twice" value="$(eval '2 * $(var rate)')"/>
<let name="a" value="$(var robot)$(var robot)"/>
<set_env name="A" value="$(env HOME here)"/>
<group if="$(equals $(var robot) panda)" scoped="true">
<push_ros_namespace namespace="left"/>
<set_parameter name="p" value="1e-3"/>
<node pkg="vms_ph" exec="simulator" name="s" respawn="true" output="screen" args="--x 1">
<param name="rate" value="$(var rate)"/><param name="list" value="[1, 2]"/>
<param name="pose" type="float" value="1.0"/>
<remap from="c" to="d"/><env name="E" value="$(eval 'max(1, 2) if True else 0')"/>
</node></group>
<include file="$(dirname)/other.launch.xml"><arg name="x" value="1"/></include>
<executable cmd="true $(var twice)" output="log"/>
<log message="$(if true yes no) $(not false) $(and true false)"/>
</launch>
"""

_OTHER = """<launch><arg name="x"/><arg name="y" default="$(var x)"/><log message="$(var x)"/></launch>"""

# No $(command ...): a launch file is a program, and a mutated one may not run what it likes here.
_WORDS = (
    b"$(var a)", b"$(eval '9**9**9')", b"$(eval 'math.factorial(99999)')", b"$(", b")", b"$(env A)",
    b"$(eval \"'%99999999d' % 1\")", b"$(eval \"'ab'.replace('a', 'bbbb')\")", b"$(dirname)",
    b"<let name='a' value='$(var a)$(var a)'/>", b"if='true'", b"unless='$(var a)'", b"$(find-pkg-share vms_ph)",
    b"<include file='$(dirname)/a.launch.xml'/>", b"<group>", b"</group>", b"type='yaml'", b"type='int'",
    b"value='[[1], 2]'", b"value='{a: 1}'", b"value='&amp;a [*a]'", b"respawn='maybe'", b"respawn_delay='nan'",
    b"sigterm_timeout='-1'", b"\\", b"$(eval '\"a\" * 99999999')", b"value='1e999'",
)  # fmt: skip


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="vms_ph_fuzz_"))


def _plain(data: bytes) -> bytes:
    """Return a launch file whose commands are not carried out, but taken as text."""
    return data.replace(b"$(command ", b"$(if true ")


@cache
def _copy() -> Path:
    """Return a share folder whose launch files carry out no commands."""
    launch = _folder() / "share" / "launch"
    launch.mkdir(parents=True)
    for path in (share_directory() / "launch").glob("*.launch.xml"):
        (launch / path.name).write_bytes(_plain(path.read_bytes()))
    for name in ("config", "rviz", "urdf"):
        (launch.parent / name).symlink_to(share_directory() / name)
    return launch.parent


def _share(name: str) -> Path:
    if name != "vms_ph":
        raise LookupError(f"there is no package {name!r}")
    return _copy()


def _launch(data: bytes) -> None:
    if b"$(command" in data:
        return
    path = _folder() / "a.launch.xml"
    path.write_bytes(data)
    (_folder() / "other.launch.xml").write_text(_OTHER)
    failed = None
    arguments = {"robot": "panda"} if b'<arg name="robot"' in data else {}
    for read in (
        lambda: load(path, arguments, find_share=_share, resolve=lambda *_: ["true"]),
        lambda: show_arguments(path, find_share=_share),
    ):
        try:
            read()
        except VmsPhError as error:
            failed = error
    if failed:
        raise failed


def _launch_seeds() -> list[bytes]:
    # The arguments of a task are the answer of a command, which is not carried out here.
    own = [
        _plain(p.read_bytes())
        for p in sorted((share_directory() / "launch").glob("*.launch.xml"))
        if p.name != "task.launch.xml"
    ]
    return [*[_LAUNCH.encode()] * 6, *own]


def _included(data: bytes) -> None:
    """A file that is included."""
    if b"$(command" in data:
        return
    (_folder() / "b.launch.xml").write_bytes(data)
    path = _folder() / "includes.launch.xml"
    path.write_text("<launch><include file='$(dirname)/b.launch.xml'/></launch>")
    load(path, find_share=_share, resolve=lambda *_: ["true"])


def _parameters(data: bytes) -> None:
    path = _folder() / "parameters.yaml"
    path.write_bytes(data)
    arguments = parse(["node", "--ros-args", "--params-file", str(path)])
    for value in parameters_of("/simulator", [arguments]).values():
        assert isinstance(value, (bool, int, float, str, list))


def _parameter_seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted((share_directory() / "config").glob("*.yaml"))]


YAML_WORDS = (
    b"&a [*a]", b"&a", b"*a", b"<<: *a", b"[" * 2000, b"{a: " * 500, b"!!python/object:os.system {}",
    b"!!int x", b"!!bool x", b"!!binary x", b"!!timestamp x", b"!!set {a}", b"2001-99-99", b"1:61:61",
    b"? [a]\n: b", b"- ", b"|\n", b">\n", b"---\n", b"...", b"%YAML 9.9\n", b"\t", b"null", b"~", b"''",
    b"!<", b".inf", b".nan", b"0b2", b"0o9", b"1_0", b"ros__parameters:", b"/**:", b"{}", b"[]", b"1" * 5000,
    b"&a a: *a", b"\xef\xbb\xbf", b"\xff\xfe", b"!!omap [a]", b"!!float x", b"!!null x", b"!!pairs x", b"!!str {}",
)  # fmt: skip

LAUNCH = Surface("launch", _launch, _launch_seeds, _WORDS, text=True, short=8, long=6_000)
INCLUDED = Surface("included", _included, _launch_seeds, _WORDS, text=True, short=4, long=3_000)
PARAMETERS = Surface(
    "parameter_files", _parameters, _parameter_seeds, YAML_WORDS, text=True, refusals=(RCLError,),
    short=20, long=15_000,
)  # fmt: skip
