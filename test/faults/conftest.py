# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""One set of processes for all faults of a module."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from nodes.conftest import Start, domain, start  # noqa: F401  fixtures
from nodes.observer import joined

from .world import World


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def world(start: Start, domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:  # noqa: F811
    bag: Path = tmp_path_factory.mktemp("world") / "bag"
    launch = start(
        "launch", "panda", "use_sim_time:=true", "web:=true", f"port:={free_port()}",
        "record:=true", f"bag:={bag}", "rate:=50.0",
    )  # fmt: skip
    with joined(domain):
        made = World(launch)
        made.await_life(60.0)
        yield made
        made.close()
