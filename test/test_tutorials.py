# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The tutorials, followed literally: files are saved, blocks run and commands typed in their order.

In a tutorial, ``sh`` blocks have lines that begin with ``./vms``; those after ``<!-- long -->`` are
typed with --campaign only. What needs a ROS 2, a compiler or a second terminal is in ``console``
blocks; their lines that begin with ``./vms`` are typed with --campaign too, in a second terminal if
a command that runs until Ctrl-C stands in the block before. A block after "Save this as `name`" is
that file too. your-robot.md has a test of its own.
"""

import json
import re
import runpy
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import pytest
import yaml
from built_core import compiled  # noqa: F401
from typer.testing import CliRunner

from vms_ph_nodes.cli.app import make_app

ROOT = Path(__file__).parents[1]
NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
PAGES = next(part["Tutorials"] for part in NAV if "Tutorials" in part)
NAMES = [name for page in PAGES for name in page.values() if name != "your-robot.md"]
BLOCK = re.compile(
    r"(?:[Ss]ave this as `(?P<file>[\w.]+)`[^`]*)?(?P<long><!-- long -->\n)?"
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```",
    re.M | re.S,
)
# Commands that run until Ctrl-C.
ENDLESS = {"launch", "run", "page"}


def follow(page: Path, folder: Path, long: bool) -> None:
    """Do what a page says, in a folder."""
    names: dict[str, object] = {}
    running = False  # whether the block has a command that goes on
    blocks = list(BLOCK.finditer(page.read_text()))
    for block, behind in zip_longest(blocks, blocks[1:]):
        before, running = running, False
        if block["file"]:
            (folder / block["file"]).write_text(block["text"])
        if block["kind"] == "python":
            exec(compile(block["text"], str(page), "exec"), names)
        elif block["kind"] == "sh" and (long or not block["long"]):
            for line in block["text"].splitlines():
                words = shlex.split(line)
                assert words[0] == "./vms", line
                if block["long"]:
                    _type_in_a_process(words[1:], folder, beside=_lines(behind))
                    running = words[1] in ENDLESS
                else:
                    _type(words[1:], folder)
        elif block["kind"] == "console" and long and not before:
            for words in _lines(block):
                _type_in_a_process(words, folder)


def _lines(block: re.Match[str] | None) -> list[list[str]]:
    """Return the commands of this project in a console block, without their first words."""
    if block is None or block["kind"] != "console":
        return []
    typed = map(shlex.split, block["text"].splitlines())
    return [words[1:] for words in typed if words[0] == "./vms"]


def _type(words: list[str], folder: Path) -> None:
    done = CliRunner().invoke(make_app(), words)
    assert done.exit_code == 0, (words, done.output, done.exception)
    assert done.output.strip()


def _type_in_a_process(
    words: list[str], folder: Path, beside: Sequence[list[str]] = (), seconds: float = 60.0
) -> str:
    """Run a command, one without an end for some seconds, beside it others; return its output."""
    command = [sys.executable, "-c", "from vms_ph_nodes.cli import main; main()", *words]
    endless = words[0] in ENDLESS or words[:2] == ["topic", "echo"]
    with subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            for others in beside:
                _type_once_it_runs(others, folder)
            output, _ = process.communicate(timeout=seconds if endless else 300.0)
            assert not endless, output
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=30.0)
        except BaseException:
            process.send_signal(signal.SIGINT)
            raise
    # Ctrl-C ends what only listens as it ends a shell command.
    assert process.returncode in ((0, 130) if words[0] == "topic" else (0,)), (words, output)
    assert "Traceback" not in output, output
    return output


def _type_once_it_runs(words: list[str], folder: Path) -> None:
    """Run a command that says something about nodes, again while they are starting."""
    end = time.monotonic() + 60.0
    while True:
        try:
            said = _type_in_a_process(words, folder, seconds=20.0)
            assert said.strip() or words[:2] == ["topic", "echo"], words  # a topic may be silent
            return
        except AssertionError:
            if time.monotonic() > end:
                raise


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_runs_when_it_is_followed(name: str, folder: Path) -> None:
    follow(ROOT / "docs" / name, folder, long=False)


@pytest.mark.slow
@pytest.mark.wire
@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_runs_with_its_long_commands(name: str, folder: Path) -> None:
    follow(ROOT / "docs" / name, folder, long=True)


EXAMPLES = sorted(ROOT.glob("examples/[0-9]*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_says_what_it_found(
    path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The node needs others to listen to; its name here keeps it from spinning.
    runpy.run_path(str(path), run_name="example" if "node" in path.name else "__main__")
    assert "node" in path.name or capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("examples/notebooks/*.ipynb")), ids=lambda p: p.name
)
def test_the_cells_of_a_notebook_run_from_top_to_bottom(path: Path, folder: Path) -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    cells = json.loads(path.read_text())["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []  # they are not kept in the repository
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
    pyplot.close("all")
