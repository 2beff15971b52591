# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""File input and output: URDF, xacro and MJCF, bundled robots, parameters, bags, plots."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .share import share_directory

if TYPE_CHECKING:
    from . import robots
    from .descriptions.loading import load, load_mjcf
    from .descriptions.urdf import load_urdf, read_urdf

__all__ = ["load", "load_mjcf", "load_urdf", "read_urdf", "robots", "share_directory"]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that looking up a file does not import Pinocchio.
    if name == "robots":
        return import_module(".robots", __name__)
    loading = name in ("load", "load_mjcf")
    module = ".descriptions.loading" if loading else ".descriptions.urdf"
    if name in ("load", "load_mjcf", "load_urdf", "read_urdf"):
        value = getattr(import_module(module, __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; see dir()")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
