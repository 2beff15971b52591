"""Diagrams of patterns."""

from .svg import draw, draw_powers

__all__ = ["draw", "draw_powers"]
