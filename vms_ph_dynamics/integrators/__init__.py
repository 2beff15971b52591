# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Structure-preserving time integration, with the energy supplied through every port."""

from ..native import native_module
from .compiled import COMPILED, has_compiled
from .integrate import integrate
from .integrate_batch import TrajectoryBatch, integrate_batch
from .retry import RetriedStep, step_with_retry
from .schemes import SCHEMES, default_scheme, make_stepper
from .stepper import IntegrationError, Observation, StepFailure, Stepper, StepResult, system_stepper
from .trajectory import EnergyBalance, Event, FailedStep, Occurrence, Trajectory

__all__ = [
    "COMPILED", "SCHEMES", "EnergyBalance", "Event", "FailedStep", "IntegrationError",
    "Observation", "Occurrence", "RetriedStep", "StepFailure", "StepResult", "Stepper",
    "Trajectory", "TrajectoryBatch", "default_scheme", "has_compiled", "integrate",
    "integrate_batch", "make_stepper", "native_module", "step_with_retry", "system_stepper",
]  # fmt: skip
