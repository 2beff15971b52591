"""The four kinds of primitive systems."""

from .component import Component
from .environment import Environment
from .irreversible import Irreversible
from .reversible import Reversible
from .storage import Quadratic, Storage

__all__ = ["Component", "Environment", "Irreversible", "Quadratic", "Reversible", "Storage"]
