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

"""Loading of models from files."""

from pathlib import Path
from typing import Any

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.errors import ModelError, VmsPhError

from .text_files import read_text
from .urdf.kinds import Kind, kind_of
from .urdf.loading import existing_file, load_urdf

load = load_urdf
"""Loads URDF, xacro and MJCF files, which it tells apart by their content."""


def load_mjcf(path: str | Path, **options: Any) -> VMSModel:
    """Return the model of the robot in an MJCF file.

    Args:
        path: path of the file.
        **options: the keywords of :func:`load_urdf`. The gravity is that of the file, and the
            base free where the file has a free joint, unless they are given.

    Raises:
        VmsPhError: no such file, or MuJoCo is not installed.
        ModelError: the file is not an MJCF, MuJoCo refuses it, or the robot is not covered.
    """
    file = existing_file(path)
    try:
        text = read_text(file)
    except OSError as error:
        raise VmsPhError(f"{file} cannot be read: {error}") from None
    if kind_of(text, file) is not Kind.MJCF:
        raise ModelError(f"{file.name} is not an MJCF: its root element must be <mujoco>")
    return load(file, **options)
