# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

from pathlib import Path

import pytest
from bag_samples import SHARE, Sampler

from vms_ph_io.bag import MessageTypes


@pytest.fixture(scope="session")
def types() -> MessageTypes:
    """Return the standard types and those of this project."""
    known = MessageTypes()
    known.register_folder("vms_ph", SHARE / "msg")
    return known


@pytest.fixture(scope="session")
def sampler(types: MessageTypes) -> Sampler:
    return Sampler(types)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the path of a bag folder that does not exist yet."""
    return tmp_path / "recording"
