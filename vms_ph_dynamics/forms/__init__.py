# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Port-Hamiltonian forms of a robot: energy, momenta, interconnection and ports."""

from ..evaluation import Momenta, momenta
from .checks import StructureCheck, structure_checks
from .decoupled import DecoupledEvaluation, DecoupledForm
from .derivatives import (
    EnergyDerivatives,
    RateDerivatives,
    energy_derivatives,
    rate_derivatives,
    rate_derivatives_batch,
)
from .form import Form
from .free_floating import FreeFloating, FreeFloatingEvaluation
from .linearization import LinearPortHamiltonian, linear_port_hamiltonian
from .ports import PORTS, Ports, PowerBalance, port_names
from .standard import CanonicalForm, StandardForm
from .state import BaseShapeEnergy, Energy, PHRate, PHState, StandardEnergy, TaskEnergy
from .task_coupling import TaskCoupling, TaskEvaluation
from .task_space import TaskSpaceForm
from .task_terms import RegularJacobian, TaskPower, TaskTerms

__all__ = [
    "PORTS", "BaseShapeEnergy", "CanonicalForm", "DecoupledEvaluation", "DecoupledForm",
    "Energy", "EnergyDerivatives", "Form", "FreeFloating", "FreeFloatingEvaluation",
    "LinearPortHamiltonian", "Momenta", "PHRate",
    "PHState", "Ports", "PowerBalance", "RateDerivatives", "RegularJacobian", "StandardEnergy",
    "StandardForm", "StructureCheck", "TaskCoupling", "TaskEnergy", "TaskEvaluation",
    "TaskPower", "TaskSpaceForm", "TaskTerms", "energy_derivatives",
    "linear_port_hamiltonian", "momenta", "port_names", "rate_derivatives",
    "rate_derivatives_batch", "structure_checks",
]  # fmt: skip
