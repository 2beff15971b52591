"""Differential tasks eta = J(q) v."""

from .position import PositionTask
from .task import Task

__all__ = ["PositionTask", "Task"]
