"""Time integration of port-Hamiltonian forms, with the energy that crosses every port."""

from .rk4 import rk4_step
from .step import PortFunction, Step

__all__ = ["PortFunction", "Step", "rk4_step"]
