# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names of rclpy that the embedded runtime lacks, and the error that names each."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from vms_ph_embedded.rclpy_names import MISSING_NAMES


def missing_message(name: str) -> str:
    """The one sentence for something that only a real ROS 2 has."""
    return (
        f"{name} is not part of the embedded ROS runtime of vms_ph: COVERAGE.md lists what is, "
        "a ROS 2 installation has the rest."
    )


def refuse(name: str) -> NoReturn:
    """Refuse an argument or a call that the subset does not cover."""
    raise NotImplementedError(missing_message(name))


def make_module_getattr(module: str) -> Callable[[str], Any]:
    """A module-level ``__getattr__`` that names what the subset lacks."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        caller = sys._getframe(1)
        if dis.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
            # `from module import name` would replace an AttributeError by a sentence of its own.
            raise ImportError(missing_message(f"{module}.{name}"), name=module)
        raise AttributeError(missing_message(f"{module}.{name}"))

    return __getattr__


class RclpySubset:
    """Base of the classes that offer a part of what their rclpy namesakes do."""

    def __getattr__(self, name: str) -> Any:
        cls = type(self)
        if not name.startswith("_"):
            for base in cls.__mro__:
                if name in MISSING_NAMES.get(f"{base.__module__}.{base.__qualname__}", "").split():
                    raise AttributeError(missing_message(f"{base.__qualname__}.{name}"))
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
