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

"""Robots of bodies, joints, motors, a battery and heat, as the simulator runs them."""

from ...energy.exergy_map import ExergyMap
from .drives import Battery, Drives, Motors, Rotors
from .mechanism import Mechanism
from .mechanism_stepper import MechanismStepper
from .powertrain import Powertrain
from .robot_simulation import EphsSimulation
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
