# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The tutorial docs/your-robot.md, its commands typed one after the other for all four robots."""

import re
import socket
import time
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_io.audits.run_record import read_run
from vms_ph_io.descriptions.packages import resolve
from vms_ph_nodes.cli.app import make_app

from .conftest import Program, _domains, end, environment

PAGE = (Path(__file__).parents[2] / "docs/your-robot.md").read_text()
FILES = dict(
    zip(("drone.urdf", "arm.xml"), re.findall(r"```xml\n(.*?)```", PAGE, re.S), strict=True)
)
_BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
TUTORIALS = [block.replace("\\\n", "").splitlines() for block in _BLOCKS]


def _free_ports(count: int) -> list[int]:
    """Ports that are free and differ from each other."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _words(line: str) -> list[str]:
    data = resolve("package://example-robot-data/robots")
    assert line.startswith("./vms ")
    return line.removeprefix("./vms ").replace("$ROBOTS", str(data)).split()


def _type(line: str) -> str:
    done = CliRunner().invoke(make_app(), _words(line))
    assert done.exit_code == 0, (line, done.output, done.exception)
    return done.output


def _name(lines: list[str]) -> str:
    """Return the name of a robot, as in ``vms new my_<name>``."""
    return lines[1].split()[2].removeprefix("my_")


def _await_energies(bags: list[Path], seconds: float = 90.0) -> None:
    """Wait until every bag has a second of energies."""
    end = time.monotonic() + seconds
    for bag in bags:
        while not _records_energies(bag):
            assert time.monotonic() < end, f"{bag.name} has no energies"
            time.sleep(0.5)


def _records_energies(bag: Path) -> bool:
    try:
        return read_run(bag).seconds > 1.0
    except VmsPhError:
        return False


@pytest.mark.wire
@pytest.mark.parametrize(
    "chosen", [("drone", "arm"), pytest.param(("ur5", "tiago"), marks=pytest.mark.slow)]
)
def test_the_robots_of_the_tutorial_run_with_page_bag_report_and_plot(
    chosen: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert len(TUTORIALS) == 4
    tutorials = [lines for lines in TUTORIALS if _name(lines) in chosen]
    assert len(tutorials) == len(chosen)
    ports = iter(_free_ports(len(chosen)))
    launches: list[Program] = []
    for check, new, launch, _, _ in tutorials:
        assert "is valid" in _type(check)
        _type(new)
        words = [*_words(launch), f"port:={next(ports)}", "rate:=50.0"]
        launches.append(Program(words, environment(next(_domains)), tmp_path))
    try:
        for program, (_, _, launch, _, _) in zip(launches, tutorials, strict=True):
            address = program.await_output(r"web page at (http\S+)", 90.0)[1]
            with urllib.request.urlopen(address, timeout=20) as page:
                assert page.status == 200, launch
        _await_energies([tmp_path / f"{name}_bag" for name in chosen])
    finally:
        end(launches)
    for program, (_, _, _, report, plot) in zip(launches, tutorials, strict=True):
        assert "Traceback" not in program.output
        said = _type(report)
        found = re.search(r"unaccounted energy +(\S+) J", said)
        assert found is not None
        assert abs(float(found[1])) < 1e-9, said
        _type(plot)
