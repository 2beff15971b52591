# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Laws for robots on wheels that do not slip; they take a form with its constraints, not a model.

Nodes and tasks host them where the entry or parameter ``wheels`` names the wheels.
"""

from .laws.differential_drive import DifferentialDrive
from .laws.wheeled_impedance import WheeledImpedance

__all__ = ["DifferentialDrive", "WheeledImpedance"]
