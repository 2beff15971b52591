# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Structure-preserving time integration, with the energy supplied through every port."""

from ..native import native_module
from .compiled import COMPILED, has_compiled
from .events import Event
from .integrate import integrate
from .integrate_batch import TrajectoryBatch, integrate_batch
from .retry import RetriedStep, step_with_retry
from .rk4 import rk4_step
from .rkmk4 import rkmk4_step
from .schemes import SCHEMES, default_scheme, make_stepper
from .step import PortFunction, Step
from .stepper import (
    IntegrationError,
    MultiStepResult,
    Observation,
    StepFailure,
    Steppable,
    Stepper,
    StepResult,
    system_stepper,
)
from .trajectory import Audit, FailedStep, Occurrence, Trajectory

__all__ = [
    "COMPILED",
    "SCHEMES",
    "Audit",
    "Event",
    "FailedStep",
    "IntegrationError",
    "MultiStepResult",
    "Observation",
    "Occurrence",
    "PortFunction",
    "RetriedStep",
    "Step",
    "StepFailure",
    "StepResult",
    "Steppable",
    "Stepper",
    "Trajectory",
    "TrajectoryBatch",
    "default_scheme",
    "has_compiled",
    "integrate",
    "integrate_batch",
    "make_stepper",
    "native_module",
    "rk4_step",
    "rkmk4_step",
    "step_with_retry",
    "system_stepper",
]
