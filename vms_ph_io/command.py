# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
