# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation: structure-preserving schemes and recorded trajectories."""

from .projection import Projection, close_loops
from .simulate import Scheme, Simulation, Trajectory, simulate
from .stepper import SCHEMES, EphsStepper

__all__ = [
    "SCHEMES", "EphsStepper", "Projection", "Scheme", "Simulation", "Trajectory", "close_loops",
    "simulate",
]  # fmt: skip
