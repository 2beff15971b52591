# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of bodies, joints, motors, a battery and heat, as the simulator runs them."""

from vms_ph_dynamics.energy.exergy_map import ExergyMap

from .drives import Battery, Drives, Motors, Rotors
from .engine import EphsEngine
from .mechanism import Mechanism
from .mechanism_stepper import MechanismStepper
from .powertrain import Powertrain
from .thermal_network import Conductor, ThermalNetwork

__all__ = [
    "Battery",
    "Conductor",
    "Drives",
    "EphsEngine",
    "ExergyMap",
    "Mechanism",
    "MechanismStepper",
    "Motors",
    "Powertrain",
    "Rotors",
    "ThermalNetwork",
]
