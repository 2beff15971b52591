# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""MJCF files: their URDF equivalent, and what it leaves out."""

from pathlib import Path

from .notes import MjcfNotes
from .worker import Worker

__all__ = ["MjcfNotes", "Worker", "mjcf_to_urdf"]


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
