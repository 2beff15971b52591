# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Progress of long computations through a callback, for commands that draw a bar."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""A callback of the share of completed work, from 0 to 1, and the current task."""


def no_progress(share: float, task: str) -> None:
    """Ignore the report."""
