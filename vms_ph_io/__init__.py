# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation of closed loops, energy audits, and files: URDF, xacro, MJCF, robots, bags."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vms_ph_dynamics.errors import missing_name

from .installation import share_directory

if TYPE_CHECKING:
    from . import drivers, robots
    from .audits import audit
    from .descriptions.urdf import load_urdf, read_urdf
    from .descriptions.urdf import load_urdf as load
    from .policies import GuardedRobot, guarded_environment
    from .simulation import Push, Trajectory, simulate

__all__ = [
    "GuardedRobot", "Push", "Trajectory", "audit", "drivers", "guarded_environment", "load",
    "load_urdf", "read_urdf", "robots", "share_directory", "simulate",
]  # fmt: skip

_MODULES = {
    "audit": ".audits",
    # load is load_urdf under the name for a file of any kind.
    **dict.fromkeys(("load", "load_urdf", "read_urdf"), ".descriptions.urdf"),
    **dict.fromkeys(("GuardedRobot", "guarded_environment"), ".policies"),
    **dict.fromkeys(("Push", "Trajectory", "simulate"), ".simulation"),
}


def __getattr__(name: str) -> Any:
    # Imported on first use, so that looking up a file does not import Pinocchio.
    if name in ("drivers", "robots"):
        return import_module(f".{name}", __name__)
    if name in _MODULES:
        module = import_module(_MODULES[name], __name__)
        value = getattr(module, "load_urdf" if name == "load" else name)
        globals()[name] = value
        return value
    from .settings.remedies import remedies

    raise missing_name(__name__, name, __all__, remedies(__name__))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
