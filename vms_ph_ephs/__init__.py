# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""EPHS: a compositional language for multibody systems with heat [C].

A system is a pattern with its boxes filled by systems; primitive ones store energy, exchange it
reversibly (Dirac structures) or irreversibly (Onsager structures), or are the environment.
Connections are checked when a pattern is constructed, physical laws when a system is assembled.
"""

from . import library, multibody
from .components import (
    Component,
    Contact,
    DryFriction,
    Environment,
    Irreversible,
    Quadratic,
    Reversible,
    SetValued,
    Storage,
)
from .equations import Equations, Rates, assemble
from .errors import (
    InconsistentState,
    LawError,
    PatternError,
    SimulationError,
    SingularConstraint,
    StructureError,
    TemperatureError,
)
from .patterns import Interface, Pattern, Port, power, state, substitute
from .quantities import Quantity, Space, displacement, entropy, momentum
from .simulation import EphsStepper, Simulation, Trajectory, close_loops, simulate
from .systems import System, compose, flatten

__all__ = [
    "Component", "Contact", "DryFriction", "Environment", "EphsStepper", "Equations",
    "InconsistentState", "Interface", "Irreversible", "LawError", "Pattern", "PatternError", "Port",
    "Quadratic", "Quantity", "Rates", "Reversible", "SetValued", "Simulation", "SimulationError",
    "SingularConstraint", "Space", "Storage", "StructureError", "System", "TemperatureError",
    "Trajectory", "assemble", "close_loops", "compose", "displacement", "entropy", "flatten",
    "library", "momentum", "multibody", "power", "simulate", "state", "substitute",
]  # fmt: skip
