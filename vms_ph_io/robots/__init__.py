# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots by name, and what is chosen about a robot."""

from .bundled import Robot, get, is_on_floor, known_as, load, make_fixed, names

__all__ = ["Robot", "get", "is_on_floor", "known_as", "load", "make_fixed", "names"]
