# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on wheels: velocity constraints, reduced by a basis of the velocities they allow."""

from .constraint import SidewaysConstraint, WheelConstraint
from .form import NonholonomicForm, NonholonomicTerms, on_wheels
from .stepper import NonholonomicRK4

__all__ = [
    "NonholonomicForm", "NonholonomicRK4", "NonholonomicTerms", "SidewaysConstraint",
    "WheelConstraint", "on_wheels",
]  # fmt: skip
