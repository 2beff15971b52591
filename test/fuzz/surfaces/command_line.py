# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments of ``vms-ph``, for the commands that end by themselves and write no files."""

# ruff: noqa: E501  inputs as they are

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from fuzz.surface import Surface

from vms_ph_io import share_directory
from vms_ph_nodes.cli import main

_COMMANDS = (
    ["check"],
    ["bag", "info"],
    ["ephs", "list"],
    ["launch", "--show-args"],
    ["reproduce", "--list"],
    ["run", "no_such_node"],
    ["bench", "--help"],
    [],
)


class RefusedError(Exception):
    """What the command line said when it ended with another code than zero."""


def _arguments(data: bytes) -> list[str]:
    command = _COMMANDS[(data or b"\0")[0] % len(_COMMANDS)]
    words = [os.fsdecode(word.replace(b"\0", b"")) for word in data[1:].split(b"\n") if word]
    if not command:  # no command that starts nodes, by mistake
        words = [f"-{''.join(words[:1]).lstrip('-')}"]
    return [*command, *(word for word in words if not word.startswith(("-o", "--o")))]


def _run(data: bytes) -> None:
    said = io.StringIO()
    code: object = 0
    with patch.object(sys, "argv", ["vms-ph", *_arguments(data)]):
        try:
            with redirect_stdout(said), redirect_stderr(said):
                main()
        except SystemExit as ending:
            code = ending.code
    if code:
        raise RefusedError(said.getvalue())


def _seeds() -> list[bytes]:
    urdf = os.fsencode(share_directory() / "urdf" / "prismatic_hopper.urdf.xacro")
    return [
        b"\0panda\n--base\nfixed",
        b"\0" + urdf,
        b"\0omnidirectional_panda\n--end-effector\npanda_hand",
        b"\x02",
        b"\x03panda",
        b"\x04",
        b"\x06",
        b"\x07h",
    ]


_WORDS = (
    b"\n--help", b"\n-h", b"\n--", b"\n--base", b"\n", b"--base=\xff", b"/dev/zero", b"/dev/null", b"..",
    b"std_msgs/msg/", b"/", b"a.b/msg/C", b"\n--show-args", b"\nrate:=1", b":=", b"=", b"\xf0\x9f\xa6\xbe",
    b"~", b"$HOME", b"*", b"\n\n", b"A" * 5000, b"--end-effector", b"1e308", b".urdf.xacro", b".mcap",
)  # fmt: skip

COMMAND_LINE = Surface(
    "command_line", _run, _seeds, _WORDS, refusals=(RefusedError,), seconds=20.0, short=20,
    long=6_000,
)  # fmt: skip
