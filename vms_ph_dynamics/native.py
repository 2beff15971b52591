# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The C++ core, where it is installed: the choice between it and Python is made here.

Python is the reference: it gives the same results without the core, and the tests compare both.
Everything takes ``native=None|True|False``: None uses the core where it is installed and covers the
case, True requires it, False excludes it.
"""

import os
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

from .errors import ModelError

Part = TypeVar("Part")

NOT_INSTALLED_MESSAGE = (
    "the C++ core is not installed or VMS_PH_NATIVE=0 excludes it; "
    "./vms native builds and installs it"
)


def native_module() -> ModuleType | None:
    """Return the C++ core, or None if it is not installed or ``VMS_PH_NATIVE=0`` excludes it."""
    if os.environ.get("VMS_PH_NATIVE") == "0":
        return None
    try:
        import vms_ph_native
    except ImportError:
        return None
    # A core that was built from older sources may lack make_law.
    return vms_ph_native if hasattr(vms_ph_native, "make_law") else None


def native_part(
    native: bool | None, obstacle: str | None, make: Callable[[ModuleType], Part], fallback: str
) -> Part | None:
    """Return a part of the core, or None where Python is to be used.

    Args:
        native: True requires it, False excludes it, None uses it where it exists.
        obstacle: why the core does not cover the case, or None.
        make: returns the part; raises ValueError where the core does not cover the robot.
        fallback: name of what is used without it, for the error.

    Raises:
        ModelError: ``native=True``, but there is no such part.
    """
    if native is False:
        return None
    module = native_module()
    if obstacle is None and module is None:
        obstacle = NOT_INSTALLED_MESSAGE
    if obstacle is None and module is not None:
        try:
            return make(module)
        except ValueError as error:  # the ModelError of C++, which covers fewer robots
            obstacle = str(error)
    if native:
        raise ModelError(f"native=True: {obstacle}; without it {fallback}")
    return None
