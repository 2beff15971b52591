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

"""MJCF files: their URDF equivalent, and what it leaves out."""

from pathlib import Path

from .notes import MjcfNotes, notes_of
from .worker import Worker

__all__ = ["MjcfNotes", "Worker", "mjcf_to_urdf", "notes_of"]


def mjcf_to_urdf(path: str | Path) -> str:
    """Return the URDF equivalent of an MJCF file, with :class:`MjcfNotes` in it.

    Bodies, sites and joints keep their names; a body without a joint is fixed to its parent. The
    body with a free joint is the root link. Meshes are referred to by their paths.

    Raises:
        VmsPhError: the file cannot be read, or MuJoCo is not installed.
        ModelError: MuJoCo refuses the file, or the robot in it is not covered.
    """
    with Worker() as worker:
        return worker.convert(Path(path))
