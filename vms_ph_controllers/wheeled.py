# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws for robots on wheels that do not slip; they take a form with its constraints, not a model.

Nodes and tasks host them where the entry or parameter ``wheels`` names the wheels.
"""

from .laws.differential_drive import DifferentialDrive
from .laws.wheeled_impedance import WheeledImpedance

__all__ = ["DifferentialDrive", "WheeledImpedance"]
