# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on wheels: velocity constraints, reduced by a basis of the velocities they allow."""

from .form import NonholonomicForm, NonholonomicTerms, WheelConstraint, wheeled_form
from .stepper import NonholonomicRK4

__all__ = [
    "NonholonomicForm", "NonholonomicRK4", "NonholonomicTerms", "WheelConstraint", "wheeled_form",
]  # fmt: skip
