# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Selection of the runtime of this process: a real ROS 2 or the embedded one, never a mixture."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from vms_ph_embedded import packages, subset
from vms_ph_embedded.interfaces.names import STANDARD_PACKAGES

SITE = Path(__file__).with_name("site")
STAND_IN_PACKAGES = ("rclpy", "tf2_ros", "ament_index_python")
OWN_PACKAGE = "vms_ph"
RUNTIME_VARIABLE = "VMS_PH_RUNTIME"


def activate(share: Path) -> bool:
    """Provide rclpy and the message packages unless a real rclpy can be imported.

    Args:
        share: the folder with the msg and srv folders of vms_ph.

    Returns:
        Whether the embedded runtime is active.

    Raises:
        RuntimeError: parts of a real ROS 2 are already loaded, or VMS_PH_RUNTIME is invalid.
    """
    if is_active():
        return True
    runtime = os.environ.get(RUNTIME_VARIABLE, "")
    if runtime not in ("", "embedded", "ros2"):
        raise RuntimeError(f"{RUNTIME_VARIABLE}={runtime!r} is no runtime: give embedded or ros2.")
    if runtime == "ros2" or (not runtime and _has_real_rclpy()):
        return False
    _unload_unrelated_modules()
    packages.register(OWN_PACKAGE, share)
    sys.meta_path.insert(0, _Finder(share))
    return True


def is_active() -> bool:
    """Whether this process runs on the embedded runtime."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def _has_real_rclpy() -> bool:
    spec = importlib.util.find_spec("rclpy")
    # A folder that merely has the name rclpy has no file (__init__.py).
    return spec is not None and spec.origin is not None


def _unload_unrelated_modules() -> None:
    provided_packages = {*STAND_IN_PACKAGES, *STANDARD_PACKAGES, OWN_PACKAGE}
    for name in [name for name in sys.modules if name.partition(".")[0] in provided_packages]:
        module = sys.modules[name]
        if getattr(module, "__file__", None) is not None:
            raise RuntimeError(
                f"{name} of another ROS 2 is already loaded from {module.__file__}; import "
                "vms_ph_nodes first, or use the colcon build of vms_ph with that ROS 2."
            )
        del sys.modules[name]  # an unrelated folder of this name


class _Finder(MetaPathFinder):
    """Finds the embedded packages in the site folder, and generates the message packages."""

    def __init__(self, share: Path) -> None:
        self._loader = _InterfaceLoader(share)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        package, *submodules = fullname.split(".")
        if package in STAND_IN_PACKAGES:
            spec = PathFinder.find_spec(fullname, path if submodules else [str(SITE)])
            if spec is None:
                raise ImportError(subset.missing_message(fullname), name=fullname)
            return spec
        if package != OWN_PACKAGE and package not in STANDARD_PACKAGES:
            return None
        if not submodules or submodules in (["msg"], ["srv"]):
            return ModuleSpec(fullname, self._loader, is_package=True)
        if package in STANDARD_PACKAGES:
            # `from std_msgs.msg import Name` also requests this if there is no such message.
            raise ImportError(subset.missing_message(fullname), name=fullname)
        return None


class _InterfaceLoader(Loader):
    """Loads a message package, or its modules of messages and services."""

    def __init__(self, share: Path) -> None:
        self._share = share

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if "." not in spec.name:
            return None
        from vms_ph_embedded.interfaces import store

        store.add_package(OWN_PACKAGE, self._share)
        return _InterfaceModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, as there is no code to execute."""


class _InterfaceModule(ModuleType):
    """A module of messages or services, whose classes are built on first access."""

    def __getattr__(self, name: str) -> Any:
        from vms_ph_embedded.interfaces import messages, store

        package, kind = self.__name__.split(".")
        if name == "__all__":
            return store.interface_names(package, kind)
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        is_message = kind == "msg" or name.endswith(("_Request", "_Response"))
        make_class = messages.message_class if is_message else messages.service_class
        try:
            interface_class = make_class(f"{package}/{kind}/{name}")
        except KeyError as error:
            raise AttributeError(str(error.args[0])) from None
        setattr(self, name, interface_class)
        return interface_class

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.__all__]
