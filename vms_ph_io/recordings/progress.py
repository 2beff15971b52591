# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How far a reader has come."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Called with the share that is done, from 0 to 1, and what is being done."""


def silent(share: float, what: str) -> None:
    """Show nothing."""
