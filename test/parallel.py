# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""In which order tests run, and which of them at the same time under pytest-xdist."""

from pathlib import PurePath
from typing import Any

import pytest

# Folders whose tests start processes, talk DDS or watch the clock; those of nodes in a wing do too.
PROCESSES = ("embedded", "faults", "io", "launch", "nodes")

# Tests that run programs of the C++ core, which watch the clock too.
PROGRAMS = ("test_bench.py", "test_core.py", "test_python_host.py")


def folder_of(nodeid: str) -> str:
    """The folder below test/ that a test is in; one name for all that start processes."""
    _, *below = PurePath(nodeid.partition("::")[0]).parts
    folder = below[0] if below else ""
    return "processes" if folder in PROCESSES or "nodes" in below else folder


def place(item: pytest.Item) -> tuple[int, bool]:
    """A key to sort by: long runs come first, and what waits for the compiler comes last.

    Before that come closed loops, which are quick in the core that is being built meanwhile.
    """
    order = {"processes": 0, "studies": 1, "controllers": 3, "native": 4}
    needs = getattr(item, "fixturenames", ())
    return order.get(folder_of(item.nodeid), 2), "sanitized_host_folder" in needs


def make_scheduler(config: pytest.Config, log: object) -> Any:
    """Give whole files to the workers, in the order of collection.

    What starts processes runs one by one on the first worker, which has precedence over the others
    (see conftest.py); the programs of the C++ core run one by one on any.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        @property
        def nodes(self) -> list[Any]:
            return sorted(super().nodes, key=lambda node: node.gateway.id)

        def _split_scope(self, nodeid: str) -> str:
            folder, file = folder_of(nodeid), nodeid.partition("::")[0]
            if folder == "native" and PurePath(file).name in PROGRAMS:
                return "programs"
            return folder if folder == "processes" else file

    config.option.loadscopereorder = False
    return Scheduler(config, log)
