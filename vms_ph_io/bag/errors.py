# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of bags."""

from importlib.util import find_spec

from vms_ph_dynamics import VmsPhError


class BagError(VmsPhError):
    """A bag that cannot be written, read, or decoded."""


_PACKAGES = ("mcap", "rosbags")


def require_packages() -> None:
    """Raise a `BagError` with the command to install missing packages, if there are any."""
    if packages := [name for name in _PACKAGES if find_spec(name) is None]:
        raise BagError(
            f"bags are read and written with the Python packages {' and '.join(_PACKAGES)}; "
            f"missing here: {', '.join(packages)}. `python3 -m pip install {' '.join(packages)}` "
            "brings what is missing; `ros2 bag` does without"
        )
