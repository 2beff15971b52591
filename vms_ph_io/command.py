# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The words of commands that messages ask users to type."""

import os
import sys
from pathlib import Path


def command() -> str:
    """Return what users type before a command: ``vms-ph``, or ``./vms`` in a checkout.

    ``./vms`` says how it was called in VMS_PH_COMMAND.
    """
    return os.environ.get("VMS_PH_COMMAND") or "vms-ph"


def python() -> str:
    """Return the Python of this environment as it is typed: ``python`` where it is on the path."""
    here = Path(sys.executable)
    if str(here.parent) in os.environ.get("PATH", "").split(os.pathsep):
        return here.name
    folder = Path.cwd()
    return str(here.relative_to(folder) if here.is_relative_to(folder) else here)
