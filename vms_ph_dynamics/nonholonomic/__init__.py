"""Robots on wheels: velocity constraints, reduced by a basis of the velocities they allow."""

from .constraint import SidewaysConstraint, WheelConstraint
from .form import NonholonomicForm, NonholonomicTerms
from .stepper import NonholonomicRK4

__all__ = [
    "NonholonomicForm",
    "NonholonomicRK4",
    "NonholonomicTerms",
    "SidewaysConstraint",
    "WheelConstraint",
]
