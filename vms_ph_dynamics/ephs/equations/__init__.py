"""Semantics: the equations of motion of a system."""

from .assembly import assemble
from .equations import Equations
from .layout import Held, Layout
from .rates import Rates

__all__ = ["Equations", "Held", "Layout", "Rates", "assemble"]
