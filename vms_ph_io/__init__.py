# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""File input and output: URDF, xacro and MJCF, bundled robots, parameters, bags, plots."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .share import share_directory

if TYPE_CHECKING:
    from . import robots
    from .loading import load, load_mjcf
    from .urdf import load_urdf, read_urdf

__all__ = ["load", "load_mjcf", "load_urdf", "read_urdf", "robots", "share_directory"]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that looking up a file does not import Pinocchio.
    if name == "robots":
        return import_module(".robots", __name__)
    module = {"load": ".loading", "load_mjcf": ".loading"}.get(name, ".urdf")
    if name in ("load", "load_mjcf", "load_urdf", "read_urdf"):
        value = getattr(import_module(module, __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; see dir()")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
