# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loops in simulation: a robot, its law, disturbances and effects, and what comes of it."""

from vms_ph_controllers.controller import ControlFault

from .closed_loop import Push, simulate
from .trajectory import SimulationStopped, Trajectory

__all__ = ["ControlFault", "Push", "SimulationStopped", "Trajectory", "simulate"]
