# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
