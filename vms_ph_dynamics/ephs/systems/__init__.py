"""Patterns with their boxes filled."""

from .system import System, compose, flatten

__all__ = ["System", "compose", "flatten"]
