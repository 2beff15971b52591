# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Loading of models from files."""

from pathlib import Path
from typing import Any

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.errors import ModelError, VmsPhError

from ..text_files import read_text
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
