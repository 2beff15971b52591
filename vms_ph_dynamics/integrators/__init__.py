"""Time integration that keeps what physics keeps, with the energy that crosses every port."""

from .compiled import COMPILED, has_compiled, native_module
from .events import Event
from .integrate import integrate
from .retry import Taken, take
from .rk4 import rk4_step
from .rkmk4 import rkmk4_step
from .schemes import SCHEMES, default_scheme, make_stepper
from .step import PortFunction, Step
from .stepper import Advance, IntegrationError, Leap, Observation, StepFailure, Steppable, Stepper
from .trajectory import Audit, FailedStep, Occurrence, Trajectory

__all__ = [
    "COMPILED",
    "SCHEMES",
    "Advance",
    "Audit",
    "Event",
    "FailedStep",
    "IntegrationError",
    "Leap",
    "Observation",
    "Occurrence",
    "PortFunction",
    "Step",
    "StepFailure",
    "Steppable",
    "Stepper",
    "Taken",
    "Trajectory",
    "default_scheme",
    "has_compiled",
    "integrate",
    "make_stepper",
    "native_module",
    "rk4_step",
    "rkmk4_step",
    "take",
]
