# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots by name, and what is chosen about a robot."""

from typing import TYPE_CHECKING

from vms_ph_dynamics.errors import missing_name

from .bundled import Robot, get, is_on_floor, known_as, load, make_fixed, names, vehicle_of

__all__ = ["Robot", "get", "is_on_floor", "known_as", "load", "make_fixed", "names", "vehicle_of"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Say how a robot is loaded."""
        if name in names():
            raise AttributeError(f"load a bundled robot by its name: robots.load('{name}')")
        raise missing_name(__name__, name, __all__, {"names()": "list available all"})
