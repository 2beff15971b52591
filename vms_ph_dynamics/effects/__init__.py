"""Effects that act on a robot: friction, fluids, actuators and their allocation."""

from .allocation import Allocation, Rotor
from .fluid import WATER, Fluid, ImmersedBody
from .friction import Friction
from .strip_theory import immersed_cylinder

__all__ = [
    "WATER",
    "Allocation",
    "Fluid",
    "Friction",
    "ImmersedBody",
    "Rotor",
    "immersed_cylinder",
]
