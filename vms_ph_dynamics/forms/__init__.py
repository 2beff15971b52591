# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Port-Hamiltonian forms of a robot: energy, momenta, interconnection and ports."""

from .checks import StructureCheck, structure_checks
from .decoupled import DecoupledForm, TransformedWrenches
from .decoupled_evaluation import DecoupledEvaluation
from .derivatives import (
    EnergyDerivatives,
    RateDerivatives,
    energy_derivatives,
    rate_derivatives,
)
from .dirac import DiracStructure, compose, direct_product
from .energy import BaseShapeEnergy, Energy, TaskEnergy, WholeEnergy
from .finite_differences import numerical_energy_derivatives, numerical_rate_derivatives
from .form import Form
from .free_floating import FreeFloating, FreeFloatingEvaluation
from .linear_port_hamiltonian import (
    LinearPortHamiltonian,
    linear_port_hamiltonian,
    linear_port_hamiltonian_along,
)
from .linearization import Linearization, linearize
from .momenta import Momenta, momenta
from .ports import PORTS, Ports, PowerBalance, port_names
from .regular_jacobian import RegularJacobian
from .standard import CanonicalForm, StandardForm
from .state import PHRate, PHState
from .subsystems import base_structure, coupled_structure, manipulator_structure, wrench_junction
from .task_coupling import TaskCoupling
from .task_evaluation import TaskEvaluation
from .task_space import TaskSpaceForm
from .task_terms import OperationalSpace, TaskPower, TaskTerms

__all__ = [
    "PORTS",
    "BaseShapeEnergy",
    "CanonicalForm",
    "DecoupledEvaluation",
    "DecoupledForm",
    "DiracStructure",
    "Energy",
    "EnergyDerivatives",
    "Form",
    "FreeFloating",
    "FreeFloatingEvaluation",
    "LinearPortHamiltonian",
    "Linearization",
    "Momenta",
    "OperationalSpace",
    "PHRate",
    "PHState",
    "Ports",
    "PowerBalance",
    "RateDerivatives",
    "RegularJacobian",
    "StandardForm",
    "StructureCheck",
    "TaskCoupling",
    "TaskEnergy",
    "TaskEvaluation",
    "TaskPower",
    "TaskSpaceForm",
    "TaskTerms",
    "TransformedWrenches",
    "WholeEnergy",
    "base_structure",
    "compose",
    "coupled_structure",
    "direct_product",
    "energy_derivatives",
    "linear_port_hamiltonian",
    "linear_port_hamiltonian_along",
    "linearize",
    "manipulator_structure",
    "momenta",
    "numerical_energy_derivatives",
    "numerical_rate_derivatives",
    "port_names",
    "rate_derivatives",
    "structure_checks",
    "wrench_junction",
]
