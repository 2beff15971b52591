# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of bodies, joints, motors, a battery and heat, as the simulator runs them."""

from vms_ph_dynamics.energy.audit import ExergyMap

from .drives import Battery, Conductor, Drives, Motors, Rotors, ThermalNetwork
from .engine import EphsEngine
from .mechanism import Mechanism, MechanismStepper
from .powertrain import Powertrain

__all__ = [
    "Battery", "Conductor", "Drives", "EphsEngine", "ExergyMap", "Mechanism", "MechanismStepper",
    "Motors", "Powertrain", "Rotors", "ThermalNetwork",
]  # fmt: skip
