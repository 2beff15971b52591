"""Motion: schemes that keep structure, and what they give."""

from .projection import Projection, closed
from .simulate import SCHEMES, Scheme, Simulation, simulate
from .trajectory import Trajectory

__all__ = ["SCHEMES", "Projection", "Scheme", "Simulation", "Trajectory", "closed", "simulate"]
