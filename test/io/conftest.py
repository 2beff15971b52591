# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Conversion of MJCF texts by a process of MuJoCo."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from vms_ph_io.descriptions.mjcf import Worker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as process:
        yield process


@pytest.fixture
def urdf(worker: Worker, tmp_path: Path):
    """The URDF equivalent of a text."""

    def convert(xml: str) -> str:
        path = tmp_path / "robot.xml"
        path.write_text(xml)
        return worker.convert(path)

    return convert
