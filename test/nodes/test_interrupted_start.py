# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Ctrl-C during the imports of a program."""

import signal
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("program", "imported", "code"),
    [
        (("-m", "vms_ph_nodes", "simulator"), "numpy.linalg", -signal.SIGINT),
        (("-c", "from vms_ph_nodes.cli import main; main()"), "typer._click.parser", 130),
    ],
    ids=["a node", "a command"],
)
def test_a_program_interrupted_during_its_imports_prints_no_traceback(
    program: tuple[str, ...], imported: str, code: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", *program], stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr is not None
        assert any(line.split()[-1:] == [imported] for line in process.stderr)
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
        assert process.wait(30) == code
    assert "KeyboardInterrupt" not in told
