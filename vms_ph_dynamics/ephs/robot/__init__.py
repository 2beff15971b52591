"""Robots of bodies, joints, motors, a battery and heat, as the simulator runs them."""

from .drives import Battery, Drives, Motors, Rotors
from .mechanism import Mechanism
from .mechanism_stepper import MechanismStepper
from .powertrain import Powertrain
from .robot_simulation import EphsSimulation, ExergyMap
from .thermal_network import Conductor, ThermalNetwork

__all__ = [
    "Battery",
    "Conductor",
    "Drives",
    "EphsSimulation",
    "ExergyMap",
    "Mechanism",
    "MechanismStepper",
    "Motors",
    "Powertrain",
    "Rotors",
    "ThermalNetwork",
]
