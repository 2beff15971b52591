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

"""Legs on floors: contact as a power port, and runs with events located in time."""

from .floor import Floor, FloorForce, Phase
from .hopper import ContactEvent, EventKind, Hopper
from .leg import Leg, LegState
from .leg_on_floor import CHANNELS, LegEfforts, LegLaw, LegOnFloor, Push
from .prediction import LegMotion, LegPrediction
from .runs import HoppingRun, hop

__all__ = [
    "CHANNELS",
    "ContactEvent",
    "EventKind",
    "Floor",
    "FloorForce",
    "Hopper",
    "HoppingRun",
    "Leg",
    "LegEfforts",
    "LegLaw",
    "LegMotion",
    "LegOnFloor",
    "LegPrediction",
    "LegState",
    "Phase",
    "Push",
    "hop",
]
