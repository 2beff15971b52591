# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names of rclpy that the embedded runtime lacks, and the error that names each."""

from __future__ import annotations

import dis
import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from vms_ph_embedded.rclpy_names import NAMES


def sentence(name: str) -> str:
    """The one sentence for something that only a real ROS 2 has."""
    return (
        f"{name} is not part of the embedded ROS runtime of vms_ph: COVERAGE.md lists what is, "
        "a ROS 2 installation has the rest."
    )


def refuse(name: str) -> NoReturn:
    """Refuse an argument or a call that the subset does not cover."""
    raise NotImplementedError(sentence(name))


def missing_from(module: str) -> Callable[[str], Any]:
    """A module-level ``__getattr__`` that names what the subset lacks."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        caller = sys._getframe(1)
        if dis.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
            # `from module import name` would replace an AttributeError by a sentence of its own.
            raise ImportError(sentence(f"{module}.{name}"), name=module)
        raise AttributeError(sentence(f"{module}.{name}"))

    return __getattr__


@functools.cache
def lacking(qualified_name: str) -> frozenset[str]:
    """The names that rclpy has in a module or class and the subset lacks."""
    names = frozenset(NAMES.get(qualified_name, "").split())
    if not names:
        return names
    holder = _find(qualified_name)
    if holder is None:
        return names
    return names - {name for name in names if _has(holder, name)}


class Subset:
    """Base of the classes that offer a part of what their rclpy namesakes do."""

    def __getattr__(self, name: str) -> Any:
        cls = type(self)
        if not name.startswith("_"):
            for base in cls.__mro__:
                if name in lacking(f"{base.__module__}.{base.__qualname__}"):
                    raise AttributeError(sentence(f"{base.__qualname__}.{name}"))
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")


def _find(qualified_name: str) -> object | None:
    """The module or class of a name, or None when the subset has neither."""
    try:
        return importlib.import_module(qualified_name)
    except ImportError:
        module, _, name = qualified_name.rpartition(".")
    try:
        return vars(importlib.import_module(module)).get(name)
    except ImportError:
        return None


def _has(holder: object, name: str) -> bool:
    try:
        inspect.getattr_static(holder, name)
    except AttributeError:
        # What a constructor sets shows in its source only.
        init = getattr(holder, "__init__", None)
        return inspect.isfunction(init) and f"self.{name} = " in inspect.getsource(init)
    return True
